"""Say for each merge task of a sort by bytes what it takes of each run: once, so that no worker reads an index.

Were every worker to find out for itself, a sort of W runs would cost W reads of each worker in each round: for a
terabyte on a thousand workers three million, ten minutes of what S3 answers under one prefix.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from typing import Any

from bellwren import layout
from bellwren.engine.sorting import partition
from bellwren.engine.sorting.boundaries import Boundary
from bellwren.engine.sorting.partition import RunCuts
from bellwren.engine.sorting.runs import HEAD_BYTES, Index, spans
from bellwren.store import Store

_PARALLEL = 16
_LEAD_BYTES = 64 << 10


def lay_out(job_id: str, runs: int, partitions: int, jobs: Store) -> None:
    """Write for each of ``partitions`` merge tasks its pieces of the runs and its limits (see ``plain.merged``)."""
    first_blocks = [0] * runs
    with ThreadPoolExecutor(_PARALLEL) as threads:

        def index(run: int) -> Index:
            found, first_blocks[run] = _index(jobs, job_id, run, runs)
            return found

        laid = partition.lay_out(lambda some: threads.map(index, some), runs, partitions)

        def write(number: int) -> None:
            told = _told(laid.cuts, laid.limits, first_blocks, number)
            # Not for people to read, and of a large sort there are millions of pieces.
            jobs.put(layout.merge_pieces(job_id, number), json.dumps(told, separators=(",", ":")).encode())

        list(threads.map(write, range(partitions)))


def _told(
    cuts: Sequence[RunCuts], limits: Sequence[Boundary], first_blocks: Sequence[int], number: int
) -> dict[str, Any]:
    """As JSON: the pieces, their bytes counted from the beginning of the runs' objects, and the two limits."""
    found = []
    for piece in partition.pieces(cuts, number):
        first = first_blocks[piece.run]
        found.append(astuple(replace(piece, start=first + piece.start, end=first + piece.end)))
    return {"pieces": found, "limits": [_limit(limits, number - 1), _limit(limits, number)]}


def _limit(limits: Sequence[Boundary], number: int) -> tuple[str, int] | None:
    """Key and run of a boundary; None for either end of everything."""
    if not 0 <= number < len(limits):
        return None
    return (limits[number].key or b"").hex(), limits[number].task


def _index(jobs: Store, job_id: str, run: int, runs: int) -> tuple[Index, int]:
    """The index of a run, one of so many, and where its blocks begin."""
    key = layout.shuffle_part(job_id, "sort", run, runs)
    lead = jobs.get_range(key, 0, _LEAD_BYTES)
    (start, end), (first_block, _) = spans(lead[:HEAD_BYTES])
    if end > len(lead):
        lead += jobs.get_range(key, len(lead), end)
    return Index.from_bytes(lead[start:end]), first_block
