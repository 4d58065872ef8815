"""Records of objects in S3: the supervisor fetches the bytes of a chunk, the runner makes records of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bellwren.engine.attempt import Work
from bellwren.engine.io import Pool
from bellwren.engine.stage import Stage
from bellwren.inputs.chunks import Chunk, ChunkTable
from bellwren.inputs.compression import MAGIC_BYTES, recognise
from bellwren.inputs.fetch import fetch
from bellwren.inputs.records import records
from bellwren.inputs.source import Piece
from bellwren.inputs.spec import InputSpec


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
        pieces = [piece async for piece in fetch(self._io, self._spec, chunk)]
        head = {
            "kind": "records",
            "chunk": chunk.as_dict(),
            "pieces": [(piece.segment, piece.offset, len(piece.data)) for piece in pieces],
            "plain_text": self._is_plain_text(pieces),
        }
        body = [piece.data for piece in pieces]
        return Work(task, head, body, bytes_in=sum(map(len, body)))

    def _is_plain_text(self, pieces: list[Piece]) -> bool:
        """Whether the bytes are UTF-8 as they lie there, so that an algorithm may search them without splitting."""
        spec = self._spec
        if spec.format != "lines" or spec.encoding != "utf-8" or spec.compression not in ("auto", "none"):
            return False
        starts = (piece.data[:MAGIC_BYTES] for piece in pieces if piece.offset == 0)
        return spec.compression == "none" or all(recognise(start) == "none" for start in starts)


def read(source: dict[str, Any], head: dict[str, Any], body: memoryview) -> Iterator[Any]:
    """The records of a task, in the runner.

    Raises:
        InputError: for damaged or undecodable data; the object and the place are named.
    """
    pieces = (Piece(segment, offset, bytes(data)) for segment, offset, data in _pieces(head, body))
    return records(InputSpec.from_dict(source["input"]), Chunk.from_dict(head["chunk"]), pieces)


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
