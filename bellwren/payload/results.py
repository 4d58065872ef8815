"""Result parts: what a task's output object holds, and how it is read back.

``pickle``: a container of frames. ``jsonl``: a line for each result. In both a failed item stands in its place.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from bellwren import framing
from bellwren.errors import TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.payload.codecs import decode, failure_line
from bellwren.payload.failure import decode_failure

Format = Literal["jsonl", "pickle"]


def encode_result(format_: Format, frame: Frame) -> bytes:
    """One result as it stands in a part."""
    if format_ == "jsonl":
        if frame.kind is Kind.FAILURE:
            return failure_line(frame.data)
        return b"null\n" if frame.kind is Kind.NONE else frame.data + b"\n"
    pieces: list[bytes] = []
    framing.write_frame(pieces.append, frame.kind, frame.data)
    return b"".join(pieces)


def container(format_: Format, parts: Sequence[bytes], count: int) -> bytes:
    """A whole part of ``count`` encoded results."""
    if format_ == "jsonl":
        return b"".join(parts)
    pieces = [framing.HEADER, *parts]
    framing.write_frame(pieces.append, Kind.END, struct.pack("<Q", count))
    return b"".join(pieces)


def read_part(format_: Format, data: bytes, *, name: str = "the part") -> Iterator[Any]:
    """The results of a part in order; a ``TaskFailure`` where an item failed.

    Raises:
        InputError: naming the part, if it is cut off or damaged.
    """
    if format_ == "jsonl":
        yield from map(_from_line, data.splitlines())
        return
    for frame in framing.read_frames([data], name=name):
        yield decode_failure(frame.data)[0] if frame.kind is Kind.FAILURE else decode(frame, "pickle")


def failures(format_: Format, data: bytes) -> Iterator[tuple[TaskFailure, bytes]]:
    """The failed items of a part, each with its encoded exception (empty where there is none)."""
    if format_ == "jsonl":
        found = (
            _from_line(line) for line in data.splitlines() if line.startswith(b'{"bellwren":"TaskFailure"')
        )
        yield from ((failure, b"") for failure in found)
        return
    for frame in framing.read_frames([data]):
        if frame.kind is Kind.FAILURE:
            yield decode_failure(frame.data)


def _from_line(line: bytes) -> Any:
    value = json.loads(line)
    if isinstance(value, dict) and value.get("bellwren") == "TaskFailure":
        return TaskFailure(value["index"], value["type"], value["message"], value["traceback"])
    return value
