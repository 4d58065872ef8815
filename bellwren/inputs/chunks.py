"""The table of chunks: which bytes of which objects each task covers, in compact JSON.

``{"objects": [[key, size, etag], [key, size, etag, facts], ...], "chunks": [...]}``, where a chunk is

- ``[first, last]``: whole objects, from one position in ``objects`` to another, both included;
- ``[object, start, end]``: one part of an object. Bytes; for ``parquet`` row groups;
- ``[object, start, end, line]``: the same, begins and ends at rows, the first of which is on this line (from 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bellwren.inputs.source import Facts, InputObject


@dataclass(frozen=True)
class Segment:
    """What a chunk covers of one object."""

    source: InputObject
    start: int
    """First byte (first row group for ``parquet``)."""
    end: int
    """Behind the last one."""
    line: int | None = None
    """Line number of the first row, where it is known."""
    exact: bool = True
    """Whether records begin at ``start`` and end at ``end``; else ``fetch`` moves both to the next record's start."""
    whole: bool = True
    """Whether it is all of the object."""


@dataclass(frozen=True)
class Chunk:
    """The input of one task."""

    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        """Bytes covered; for parts of Parquet objects row groups."""
        return sum(s.end - s.start for s in self.segments)

    def as_dict(self) -> dict[str, Any]:
        """JSON for a runner."""
        return {
            "segments": [
                [*_object_row(s.source), s.start, s.end, s.line, s.exact, s.whole] for s in self.segments
            ]
        }

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Chunk:
        """Read back what ``as_dict`` wrote."""
        return Chunk(
            tuple(Segment(_object(row[:-5]), *row[-5:]) for row in document["segments"]),
        )


@dataclass(frozen=True)
class ChunkTable:
    """Every chunk of an input."""

    objects: tuple[InputObject, ...]
    chunks: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.chunks)

    def chunk(self, task: int) -> Chunk:
        """The input of one task."""
        row = self.chunks[task]
        if len(row) == 2:
            first, last = row
            whole = self.objects[first : last + 1]
            return Chunk(tuple(Segment(source, 0, source.size, line=1) for source in whole))
        source = self.objects[row[0]]
        line = row[3] if len(row) > 3 else None
        return Chunk((Segment(source, row[1], row[2], line, exact=line is not None, whole=False),))

    def __iter__(self) -> Iterator[Chunk]:
        return (self.chunk(task) for task in range(len(self.chunks)))

    def as_dict(self) -> dict[str, Any]:
        """The table of a stage's tasks as it lies in storage."""
        return {
            "objects": [_object_row(source) for source in self.objects],
            "chunks": [list(row) for row in self.chunks],
        }

    @staticmethod
    def from_dict(document: dict[str, Any]) -> ChunkTable:
        """Read back what ``as_dict`` wrote."""
        objects: Iterable[list[Any]] = document["objects"]
        return ChunkTable(
            tuple(_object(row) for row in objects), tuple(tuple(row) for row in document["chunks"])
        )


def _object_row(source: InputObject) -> list[Any]:
    facts = source.facts.as_dict()
    return [source.key, source.size, source.etag, *([facts] if facts else [])]


def _object(row: list[Any]) -> InputObject:
    return InputObject(row[0], row[1], row[2], Facts.from_dict(row[3]) if len(row) > 3 else Facts())
