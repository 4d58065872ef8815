"""Which bytes of each run every partition takes, worked out for all partitions at once from one index after the other.

Of a large sort the indexes of all runs do not fit into memory: a terabyte has 25 million blocks. So boundaries are
found among every n-th entry, and what is kept of a run's index is where each boundary cuts the run. A boundary still
is a place in the order of all records, so nothing is lost or doubled; partitions are just less equal, by the bytes
between two entries and not by those of a block (see ``boundaries``).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from bellwren.engine.sorting.boundaries import Boundary, boundaries, cut
from bellwren.engine.sorting.ranks import RANKS
from bellwren.engine.sorting.runs import Index

_TOGETHER = 16
"""Indexes that are read at once, and are in memory as bytes."""
MOST_ENTRIES = 500_000
"""Entries of all runs that boundaries are found among: each takes some 160 bytes while they are."""


@dataclass(frozen=True)
class Piece:
    """What a partition takes of one run."""

    run: int
    start: int
    """Bytes ``[start, end)`` among the run's blocks, or of its object."""
    end: int
    begins_within: bool
    """Whether the partition begins somewhere within the first block, and not with it."""
    ends_within: bool


@dataclass(frozen=True)
class RunCuts:
    """Where every boundary cuts one run."""

    before: array[int]
    """Bytes before the block in which the boundary falls, or which it precedes."""
    behind: array[int]
    """Bytes up to the end of that block; those of ``before`` where no block is cut."""
    size_bytes: int


def step_of(entries: int, runs: int) -> int:
    """Which entries of a run are looked at: every so-many-th, if all ``runs`` have about so many."""
    return max(1, -(-entries * runs // MOST_ENTRIES))


def thinned(index: Index, step: int) -> Index:
    """Every ``step``-th entry of a run, its block grown to where the next one begins, and the first of each rank."""
    if step == 1:
        return index
    ends = [bisect_right(index.ranks, rank) for rank in RANKS]
    starts = array("L", chain.from_iterable(range(*of_rank, step) for of_rank in pairwise([0, *ends])))
    places = array("L", [*starts, len(index)])
    return Index(
        plain=index.plain,
        sizes=[sum(index.sizes[at:end]) for at, end in pairwise(places)],
        counts=[sum(index.counts[at:end]) for at, end in pairwise(places)],
        ranks=bytes(index.ranks[at] for at in starts),
        keys=[*(index.keys[at] for at in starts), index.keys[-1]],
        places=places,
    )


def run_cuts(index: Index, run: int, limits: Sequence[Boundary]) -> RunCuts:
    """Where the boundaries cut a run."""
    offsets = index.offsets()
    # Of a large sort there are tens of millions of these.
    code = "I" if offsets[-1] < 1 << 32 else "Q"
    before, behind = array(code), array(code)
    for limit in limits:
        block, within = cut(index, run, limit)
        before.append(offsets[block])
        behind.append(offsets[block + within])
    return RunCuts(before, behind, offsets[-1])


def pieces(cuts: Sequence[RunCuts], partition: int) -> list[Piece]:
    """What a partition takes of the runs, in their order."""
    found = (_piece(of_run, run, partition) for run, of_run in enumerate(cuts))
    return [piece for piece in found if piece.start < piece.end]


def _piece(cuts: RunCuts, run: int, partition: int) -> Piece:
    start = first_end = 0
    end = last_start = cuts.size_bytes
    if partition:
        start, first_end = cuts.before[partition - 1], cuts.behind[partition - 1]
    if partition < len(cuts.before):
        last_start, end = cuts.before[partition], cuts.behind[partition]
    return Piece(run, start, end, begins_within=start < first_end, ends_within=last_start < end)


@dataclass(frozen=True)
class Laid:
    """Where all partitions lie in all runs."""

    limits: Sequence[Boundary]
    cuts: Sequence[RunCuts]


def lay_out(indexes: Callable[[range], Iterable[Index]], runs: int, partitions: int) -> Laid:
    """Find the boundaries, and where they cut every run.

    ``indexes`` reads those of some runs. All are read twice if there are too many entries to keep; what is kept then is
    every n-th of them and, at the end, two numbers for each run and boundary.
    """
    groups = [range(first, min(first + _TOGETHER, runs)) for first in range(0, runs, _TOGETHER)]
    coarse: list[Index] = []
    whole = True
    for group in groups:
        for index in indexes(group):
            step = step_of(len(index), runs)
            whole = whole and step == 1
            coarse.append(thinned(index, step))
    limits = boundaries(coarse, partitions)
    if whole:
        return Laid(limits, [run_cuts(index, run, limits) for run, index in enumerate(coarse)])
    coarse.clear()
    return Laid(
        limits,
        [
            run_cuts(index, run, limits)
            for group in groups
            for run, index in zip(group, indexes(group), strict=True)
        ],
    )
