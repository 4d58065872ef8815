"""Which bytes of each run every partition takes, worked out for all partitions at once from one index after the other.

Of a large sort the indexes of all runs do not fit into memory: a terabyte has 25 million blocks. So boundaries are
found among every n-th entry, and what is kept of a run's index is where each boundary cuts the run. A boundary still
is a place in the order of all records, so nothing is lost or doubled; partitions are just less equal, by the bytes
between two entries and not by those of a block (see ``boundaries``).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from bellwren.engine.sorting.boundaries import Boundary, cut
from bellwren.engine.sorting.runs import Index

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
    """Every ``step``-th entry of a plain run, its block grown to where the next one begins."""
    if step == 1:
        return index
    starts = range(0, len(index), step)
    return Index(
        plain=index.plain,
        sizes=[sum(index.sizes[at : at + step]) for at in starts],
        counts=[sum(index.counts[at : at + step]) for at in starts],
        ranks=index.ranks[::step],
        keys=[*index.keys[:-1:step], index.keys[-1]],
    )


def refined(limits: Sequence[Boundary], steps: Sequence[int], entries: Sequence[int]) -> list[Boundary]:
    """The boundaries with the blocks that the runs themselves have."""
    return [one._replace(block=min(one.block * steps[one.task], entries[one.task])) for one in limits]


def run_cuts(index: Index, run: int, limits: Sequence[Boundary]) -> RunCuts:
    """Where the boundaries cut a run."""
    offsets = index.offsets()
    before, behind = array("Q"), array("Q")
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
