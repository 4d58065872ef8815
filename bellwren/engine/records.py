"""Records of objects in S3: the supervisor fetches the bytes of a chunk, the runner makes records of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from bellwren.engine.attempt import Pull, Work
from bellwren.engine.failed import FailedItem
from bellwren.engine.io import Pool
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.inputs.chunks import Chunk, ChunkTable
from bellwren.inputs.compression import MAGIC_BYTES, recognise
from bellwren.inputs.fetch import fetch
from bellwren.inputs.records import record_batches, records
from bellwren.inputs.rows import BadRow
from bellwren.inputs.source import Piece
from bellwren.inputs.spec import InputSpec
from bellwren.payload.failure import failure_frame

_STREAM_ABOVE_BYTES = 64 << 20
"""Whole objects up to here are sent to the runner at once."""
_PIECE = struct.Struct("<IQ")


class RecordSource:
    """A task is a chunk of the input's objects."""

    def __init__(self, io: Pool, stage: Stage, table: dict[str, Any]) -> None:
        self._io = io
        self._spec = InputSpec.from_dict(stage.input["input"])
        self._table = ChunkTable.from_dict(table)

    async def load(self, task: int) -> Work:
        """Fetch the bytes of the chunk's records.

        Raises:
            InputError: if an object is gone, changed, or not what its format says.
        """
        chunk = self._table.chunk(task)
        head: dict[str, Any] = {"kind": "records", "chunk": chunk.as_dict()}
        if sum(segment.source.size for segment in chunk.segments if segment.whole) > _STREAM_ABOVE_BYTES:
            # A compressed object can't be cut, and may be larger than memory.
            return Work(task, head, open=lambda: self._stream(chunk), bytes_in=chunk.size)
        pieces = [piece async for piece in fetch(self._io, self._spec, chunk)]
        head["pieces"] = [(piece.segment, piece.offset, len(piece.data)) for piece in pieces]
        head["plain_text"] = is_plain_text(self._spec, pieces)
        body = [piece.data for piece in pieces]
        return Work(task, head, body, bytes_in=sum(map(len, body)))

    def _stream(self, chunk: Chunk) -> Pull:
        """Hand on the pieces of a chunk one by one, as the runner asks for them."""
        pieces = fetch(self._io, self._spec, chunk)

        async def pull(_: int) -> bytes:
            piece = await anext(pieces, None)
            return b"" if piece is None else _PIECE.pack(piece.segment, piece.offset) + piece.data

        return pull


def is_plain_text(spec: InputSpec, pieces: list[Piece]) -> bool:
    """Whether the lines of these bytes are those of the text, so that an algorithm may search it without splitting it.

    Not where an option makes something else of them: drops bytes between letters, refuses some, or ends lines at one.
    """
    if spec.format != "lines" or spec.encoding != "utf-8" or spec.newline is not None:
        return False
    if spec.errors not in ("surrogateescape", "replace") or spec.compression not in ("auto", "none"):
        return False
    starts = (piece.data[:MAGIC_BYTES] for piece in pieces if piece.offset == 0)
    return spec.compression == "none" or all(recognise(start) == "none" for start in starts)


def read(
    source: dict[str, Any], head: dict[str, Any], body: memoryview, pull: Callable[[int], memoryview]
) -> Iterator[Any]:
    """The records of a task, in the runner; ``pull`` gives the pieces of one that is streamed.

    Raises:
        InputError: for damaged or undecodable data; the object and the place are named.
    """
    spec, chunk = InputSpec.from_dict(source["input"]), Chunk.from_dict(head["chunk"])
    return records(spec, chunk, pieces(head, body, pull))


def read_apart(
    source: dict[str, Any], head: dict[str, Any], body: memoryview, pull: Callable[[int], memoryview]
) -> Iterator[Callable[[], Any]]:
    """As ``read``, a function that gives each; a row that does not fit its table is a failed item in its place.

    Raises:
        InputError: as ``read``, for what is worse than that.
    """
    spec, chunk = InputSpec.from_dict(source["input"]), Chunk.from_dict(head["chunk"])
    bad: list[BadRow] = []
    for batch in record_batches(spec, chunk, pieces(head, body, pull), on_bad=bad.append):
        yield from map(_failed, bad)  # those before the batch
        bad.clear()
        yield from map(_constant, batch)
    yield from map(_failed, bad)


def _failed(row: BadRow) -> FailedItem:
    return FailedItem(failure_frame(TaskFailure(0, "BadRow", str(row), "", row.snippet)).data)


def _constant(record: Any) -> Callable[[], Any]:
    return lambda: record


def pieces(head: dict[str, Any], body: memoryview, pull: Callable[[int], memoryview]) -> Iterator[Piece]:
    """The bytes of a task as they were fetched."""
    found = _pieces(head, body) if "pieces" in head else _pulled(pull)
    return (Piece(segment, offset, bytes(data)) for segment, offset, data in found)


def plain_texts(head: dict[str, Any], body: memoryview) -> Iterator[bytes]:
    """The text of each object of the task; an object's end ends a word too."""
    at = 0
    start = 0
    last: int | None = None
    for segment, _, size in head["pieces"]:
        if last is not None and segment != last:
            yield bytes(body[start:at])
            start = at
        last = segment
        at += size
    if at > start:
        yield bytes(body[start:at])


def line_count(text: bytes) -> int:
    """Lines of a text, the last one counted with or without its end."""
    return text.count(b"\n") + (not text.endswith(b"\n") and bool(text))


def _pieces(head: dict[str, Any], body: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    at = 0
    for segment, offset, size in head["pieces"]:
        yield segment, offset, body[at : at + size]
        at += size


def _pulled(pull: Callable[[int], memoryview]) -> Iterator[tuple[int, int, memoryview]]:
    while data := pull(0):
        segment, offset = _PIECE.unpack_from(data)
        yield segment, offset, data[_PIECE.size :]
