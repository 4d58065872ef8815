"""Where merge tasks part: the boundaries between partitions, and where they cut a run.

A boundary is a place in the order of all records by (rank, key, task, position): the beginning of one block of one run.
So records of equal keys part too, between blocks of one run and between runs, and partitions are of about equal size
even where all keys are the same. Every merge task computes the same boundaries from the same indexes.

Balance. Between two of its entries a run's index does not say where keys lie; half of a block is counted at its first
key and half at the next one's. For W runs with blocks of b bytes a boundary is therefore off by at most W·b/2 and
half of an entry, so partitions of P bytes are within a factor of two of each other where (W + 1)·b <= P/3. For keys
that fall within blocks at random the errors of the runs cancel, and the rest is a few hundredths of P.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bellwren.engine.sorting.ranks import ORDINARY, RANKS, compare_failed
from bellwren.engine.sorting.runs import Index


class Boundary(NamedTuple):
    """The records from here on belong to the next partition."""

    rank: int
    key: Any
    task: int
    """Run whose block begins here."""
    block: int


class Cut(NamedTuple):
    """Where a boundary cuts one run."""

    block: int
    within: bool
    """Whether it may be anywhere within the block; else it is where the block begins."""


def boundaries(indexes: Sequence[Index], partitions: int) -> list[Boundary]:
    """The ``partitions - 1`` boundaries, in order; some may be equal where there are fewer blocks than partitions.

    Raises:
        InputError: if keys cannot be compared; it names their types.
    """
    entries = [_Entries(indexes, rank) for rank in RANKS]
    middles = array("d")
    before = 0.0
    for of_rank in entries:
        for weight in of_rank.weights():
            middles.append(before + weight / 2)
            before += weight
    if not middles:
        return [Boundary(ORDINARY, None, 0, 0)] * (partitions - 1)
    found = []
    for number in range(1, partitions):
        wanted = number * before / partitions
        at = bisect_left(middles, wanted)
        if at == len(middles) or (at and wanted - middles[at - 1] < middles[at] - wanted):
            at -= 1
        found.append(_entry(entries, at))
    return found


def _entry(entries: Sequence[_Entries], at: int) -> Boundary:
    rank = ORDINARY
    while at >= len(entries[rank]):
        at -= len(entries[rank])
        rank += 1
    return entries[rank][at]


class _Entries:
    """The index entries of one rank of all runs, in order; equal keys in the order of runs and blocks.

    Held in arrays: of a large sort there are millions.
    """

    def __init__(self, indexes: Sequence[Index], rank: int) -> None:
        self._rank = rank
        self._keys: list[Any] = []
        self._tasks, self._blocks, self._weights = array("L"), array("L"), array("d")
        for task, index in enumerate(indexes):
            self._add(task, index)
        self._order: Sequence[int] = range(len(self._keys))
        if rank == ORDINARY:
            self._order = array("L", _sorted_positions(self._keys))

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, position: int) -> Boundary:
        at = self._order[position]
        return Boundary(self._rank, self._keys[at], self._tasks[at], self._blocks[at])

    def weights(self) -> Iterator[float]:
        """The bytes that are counted at each entry."""
        return map(self._weights.__getitem__, self._order)

    def _add(self, task: int, index: Index) -> None:
        first, last = bisect_left(index.ranks, self._rank), bisect_right(index.ranks, self._rank)
        if first == last:
            return
        ordinary = self._rank == ORDINARY
        self._keys += [*index.keys[first:last], index.keys[-1]] if ordinary else [0] * (last - first + 1)
        self._tasks.extend([task] * (last - first + 1))
        self._blocks.extend((index.places or range(len(index) + 1))[first : last + 1])
        halves = [0, *(size / 2 for size in index.sizes[first:last]), 0]
        self._weights.extend(map(sum, pairwise(halves)))


def _sorted_positions(keys: list[Any]) -> list[int]:
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except MemoryError:
        raise
    except Exception as error:  # whatever a comparison of the user's raises
        raise compare_failed(keys, error) from error


def cut(index: Index, task: int, boundary: Boundary) -> Cut:
    """Where a boundary cuts the run of a task."""
    if task == boundary.task:
        return Cut(boundary.block, within=False)
    first, last = bisect_left(index.ranks, boundary.rank), bisect_right(index.ranks, boundary.rank)
    # Of equal keys those of earlier runs come first, so they lie before the boundary, and those of later ones behind.
    equal_before = task < boundary.task
    if boundary.rank != ORDINARY:
        return Cut(last if equal_before else first, within=False)
    bisect = bisect_right if equal_before else bisect_left
    block = bisect(index.keys, boundary.key, first, last)
    return Cut(block - 1, within=True) if block > first else Cut(first, within=False)
