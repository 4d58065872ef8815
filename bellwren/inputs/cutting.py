"""How an input becomes chunks: pure rules over sizes.

Large objects are cut into equal parts, small ones are read together, compressed ones (and those whose records can't be
found from the middle) are left whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bellwren.errors import InputError
from bellwren.inputs.chunks import ChunkTable
from bellwren.inputs.quotes import RowStart
from bellwren.inputs.source import InputObject
from bellwren.inputs.spec import InputSpec

TASKS_PER_SLOT = 4
SMALLEST_SHARE_BYTES = 1 << 20
LARGEST_SHARE_BYTES = 32_000_000
REQUEST_BYTES = 1 << 17
MAX_CHUNKS = 100_000


@dataclass(frozen=True)
class TaskSize:
    """How much goes into one chunk."""

    bytes: int
    """Objects above this are cut; the sum of objects that are read together stays within it."""
    weight: int
    """The sum of ``bytes + REQUEST_BYTES`` of objects that are read together stays within it."""


@dataclass(frozen=True)
class Divided:
    """An object, and how it may be divided."""

    source: InputObject
    divisible: bool = False
    first_cut: int = 0
    """No cut before this byte: a CSV header must be in the first part."""
    rows: tuple[RowStart, ...] | None = None
    """Where to cut, if only certain places will do."""
    row_groups: tuple[int, ...] | None = None
    """Bytes of each row group of a Parquet object."""


def task_size(
    spec: InputSpec, sizes: Sequence[int], slots: int, *, tasks_per_slot: int = TASKS_PER_SLOT
) -> TaskSize:
    """How large chunks should be, for ``slots`` runners working at once.

    Not above the user's chunk, which bounds a runner's memory. Below it, small enough for ``tasks_per_slot`` tasks for
    each runner: with work stealing a slot that got a slow task is idle or alone for at most about one task, so four
    keep that under a quarter of the job, and the cost of a task (a claim and a commit, some 60 ms, mostly hidden behind
    computing) small. But not below 1 MiB of that own accord, which a runner is done with in the time of one request.
    A small object costs its bytes and a request, which takes as long as some 128 KiB (20 ms, several at once).
    """
    total = sum(size + REQUEST_BYTES for size in sizes)
    share = max(SMALLEST_SHARE_BYTES, -(-total // max(1, slots * tasks_per_slot)))
    if spec.format == "blocks":
        block = spec.chunk_bytes
        return TaskSize(max(block, min(LARGEST_SHARE_BYTES, share) // block * block), share)
    return TaskSize(min(spec.chunk_bytes, share), min(share, LARGEST_SHARE_BYTES))


def cut(spec: InputSpec, objects: Sequence[Divided], size: TaskSize) -> ChunkTable:
    """The table of chunks, in the order of the objects and within them.

    Raises:
        InputError: if there would be more than ``MAX_CHUNKS``.
    """
    refuse_too_many(spec, objects, size)
    chunks: list[tuple[int, ...]] = []
    first = taken = weight = 0
    for position, entry in enumerate(objects):
        alone = entry.divisible or entry.row_groups is not None
        full = (
            taken + entry.source.size > size.bytes or weight + entry.source.size + REQUEST_BYTES > size.weight
        )
        if first < position and (alone or full):
            chunks.append((first, position - 1))
            first, taken, weight = position, 0, 0
        if alone:
            chunks.extend((position, *part) for part in _parts(spec, entry, size.bytes))
            first = position + 1
        else:
            taken += entry.source.size
            weight += entry.source.size + REQUEST_BYTES
    if first < len(objects):
        chunks.append((first, len(objects) - 1))
    _limit(spec, objects, size, len(chunks))
    return ChunkTable(tuple(entry.source for entry in objects), tuple(chunks))


def even_cuts(size: int, part: int, unit: int = 1) -> list[int]:
    """Inner boundaries, at multiples of ``unit``, for as few parts of ``size`` bytes as at most ``part`` each allows.

    The parts are equal up to a unit: a small last part would be a task like any other, with little to do.
    """
    units = -(-size // unit)
    parts = -(-size // part)
    return [number * units // parts * unit for number in range(1, parts)]


def _parts(spec: InputSpec, entry: Divided, part: int) -> Iterator[tuple[int, ...]]:
    if entry.row_groups is not None:
        yield from _runs(entry.row_groups, part)
        return
    size = entry.source.size
    if entry.rows is None:
        unit = spec.chunk_bytes if spec.format == "blocks" else 1
        inner = [at for at in even_cuts(size, part, unit) if at >= entry.first_cut]
        edges = [0, *inner, size]
        yield from pairwise(edges)
        return
    later = [row for row in entry.rows if 0 < row.offset < size]
    for row, end in zip([RowStart(0, 1), *later], [*(row.offset for row in later), size], strict=True):
        yield row.offset, end, row.line


def _runs(sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Consecutive row groups together up to ``limit`` bytes, at least one each."""
    start = taken = 0
    for position, size in enumerate(sizes):
        if position > start and taken + size > limit:
            yield start, position
            start, taken = position, 0
        taken += size
    if start < len(sizes):
        yield start, len(sizes)


def refuse_too_many(spec: InputSpec, objects: Sequence[Divided], size: TaskSize) -> None:
    """Raise InputError if cutting alone makes more than ``MAX_CHUNKS`` chunks, before time is spent on each of them."""
    _limit(
        spec, objects, size, sum(-(-entry.source.size // size.bytes) for entry in objects if entry.divisible)
    )


def _limit(spec: InputSpec, objects: Sequence[Divided], size: TaskSize, chunks: int) -> None:
    if chunks > MAX_CHUNKS:
        total = sum(entry.source.size for entry in objects)
        raise InputError(
            f"{spec.uri}: {total:,} bytes in {len(objects):,} object(s) make some {chunks:,} chunks of"
            f" {size.bytes:,} bytes, and a job may have {MAX_CHUNKS:,}; use a chunk of at least"
            f" {-(-total // (MAX_CHUNKS // 2)):,} bytes"
        )
