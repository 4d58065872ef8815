"""Result parts: what a task's output object holds, and how it is read back.

``pickle``: a container of frames. ``jsonl``: a line for each result. ``parquet``: a row for each, which must be a dict.
In all three a failed item stands in its place. ``raw``: the bytes of a sort's records (see ``bellwren.raw``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, Literal

from bellwren import framing
from bellwren.buffers import buffer
from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.payload.codecs import decode, failure_line
from bellwren.payload.failure import decode_failure

Format = Literal["jsonl", "pickle", "parquet", "raw"]

_JOINED_AT_ONCE_BYTES = 4 << 20
_FAILURE_LINE = b'{"bellwren":"TaskFailure"'


def encode_result(format_: Format, frame: Frame) -> bytes:
    """One result as it stands in a part; for ``parquet``, as it waits for the others of its part."""
    if format_ == "jsonl":
        if frame.kind is Kind.FAILURE:
            return failure_line(frame.data)
        return b"null\n" if frame.kind is Kind.NONE else frame.data + b"\n"
    pieces: list[bytes] = []
    framing.write_frame(pieces.append, frame.kind, frame.data)
    return b"".join(pieces)


def whole_part(format_: Format, encoded: list[bytes | memoryview], count: int) -> bytes | memoryview:
    """A part of ``count`` encoded results, which are taken out of ``encoded``: there is never a second copy of all."""
    if format_ == "pickle":
        encoded.insert(0, framing.HEADER)
        framing.write_frame(encoded.append, Kind.END, struct.pack("<Q", count))
    size = sum(map(len, encoded))
    if size < _JOINED_AT_ONCE_BYTES:
        joined = b"".join(encoded)
        encoded.clear()
        return joined
    # Its pages come into being as they are written, while the pieces go.
    whole = buffer(size)
    while encoded:
        piece = encoded.pop()
        whole[size - len(piece) : size] = piece
        size -= len(piece)
    return whole


def read_part(format_: Format, data: bytes, *, name: str = "the part") -> Iterator[Any]:
    """The results of a part in order; a ``TaskFailure`` where an item failed.

    Raises:
        InputError: naming the part, if it is cut off or damaged.
    """
    if format_ == "jsonl":
        yield from map(_from_line, data.split(b"\n")[:-1])
        return
    if format_ == "parquet":
        from bellwren.engine.tables import read_rows  # noqa: PLC0415  pyarrow is an extra

        yield from read_rows(data, name=name)
        return
    if format_ == "raw":
        raise InputError(f"{name} holds the bytes of records; bellwren.raw.RawForm says how to read them")
    for frame in framing.read_frames([data], name=name):
        yield decode_failure(frame.data)[0] if frame.kind is Kind.FAILURE else decode(frame, "pickle")


def encoded_results(format_: Format, data: bytes) -> Iterator[tuple[bytes, bool]]:
    """The results of a part as they are encoded in it, and whether each stands for a failed item."""
    if format_ == "jsonl":
        for line in data.split(b"\n")[:-1]:
            yield line + b"\n", line.startswith(_FAILURE_LINE)
    else:
        for frame in framing.read_frames([data]):
            yield encode_result(format_, frame), frame.kind is Kind.FAILURE


def failure_frames(format_: Format, data: bytes) -> Iterator[bytes]:
    """The failed items of a part of format ``pickle``, as ``payload.outcome.rebuild`` reads them."""
    if format_ == "pickle":
        yield from (frame.data for frame in framing.read_frames([data]) if frame.kind is Kind.FAILURE)


def _from_line(line: bytes) -> Any:
    if line.startswith(_FAILURE_LINE):
        value = json.loads(line)
        return TaskFailure(value["index"], value["type"], value["message"], value["traceback"])
    return json.loads(line)
