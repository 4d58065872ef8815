"""Say for each merge task of a sort by bytes what it takes of each run: once, so that no worker reads an index.

Were every worker to find out for itself, a sort of W runs would cost W reads of each worker in each round: for a
terabyte on a thousand workers three million, ten minutes of what S3 answers under one prefix.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from typing import Any

from bellwren import layout
from bellwren.engine.sorting.boundaries import Boundary, boundaries
from bellwren.engine.sorting.partition import RunCuts, pieces, refined, run_cuts, step_of, thinned
from bellwren.engine.sorting.runs import HEAD_BYTES, Index, spans
from bellwren.store import Store

_PARALLEL = 16
_LEAD_BYTES = 64 << 10


@dataclass(frozen=True)
class _Seen:
    """What is kept of a run while boundaries are looked for."""

    entries: int
    step: int
    coarse: Index
    first_block: int
    """Where its blocks begin in its object."""


def lay_out(job_id: str, runs: int, partitions: int, jobs: Store) -> None:
    """Write for each of ``partitions`` merge tasks its pieces of the runs and its limits (see ``plain.merged``).

    Two looks at each run: at first for the boundaries, then for where they cut it. What is kept in between is bounded.
    """
    with ThreadPoolExecutor(_PARALLEL) as threads:
        seen = list(threads.map(lambda run: _look(jobs, job_id, run, runs), range(runs)))
        found = boundaries([one.coarse for one in seen], partitions)
        limits = refined(found, [one.step for one in seen], [one.entries for one in seen])

        def cut(run: int) -> RunCuts:
            one = seen[run]
            return run_cuts(one.coarse if one.step == 1 else _index(jobs, job_id, run)[0], run, limits)

        cuts = list(threads.map(cut, range(runs)))
        first_blocks = [one.first_block for one in seen]

        def write(partition: int) -> None:
            told = _told(cuts, limits, first_blocks, partition)
            # Not for people to read, and of a large sort there are millions of pieces.
            jobs.put(layout.merge_pieces(job_id, partition), json.dumps(told, separators=(",", ":")).encode())

        list(threads.map(write, range(partitions)))


def _told(
    cuts: Sequence[RunCuts], limits: Sequence[Boundary], first_blocks: Sequence[int], partition: int
) -> dict[str, Any]:
    """As JSON: the pieces, their bytes counted from the beginning of the runs' objects, and the two limits."""
    found = []
    for piece in pieces(cuts, partition):
        first = first_blocks[piece.run]
        found.append(astuple(replace(piece, start=first + piece.start, end=first + piece.end)))
    return {"pieces": found, "limits": [_limit(limits, partition - 1), _limit(limits, partition)]}


def _limit(limits: Sequence[Boundary], number: int) -> tuple[str, int] | None:
    """Key and run of a boundary; None for either end of everything."""
    if not 0 <= number < len(limits):
        return None
    return (limits[number].key or b"").hex(), limits[number].task


def _look(jobs: Store, job_id: str, run: int, runs: int) -> _Seen:
    index, first_block = _index(jobs, job_id, run)
    step = step_of(len(index), runs)
    return _Seen(len(index), step, thinned(index, step), first_block)


def _index(jobs: Store, job_id: str, run: int) -> tuple[Index, int]:
    """The index of a run, and where its blocks begin."""
    key = layout.shuffle_part(job_id, "sort", run)
    lead = jobs.get_range(key, 0, _LEAD_BYTES)
    (start, end), (first_block, _) = spans(lead[:HEAD_BYTES])
    if end > len(lead):
        lead += jobs.get_range(key, len(lead), end)
    return Index.from_bytes(lead[start:end]), first_block
