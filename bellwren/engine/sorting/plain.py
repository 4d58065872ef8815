"""Sorting and merging records that sort as the bytes they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bellwren.engine.sorting.forms import Buffer, Form
from bellwren.engine.sorting.partition import Piece
from bellwren.engine.sorting.ranks import ORDINARY
from bellwren.engine.sorting.runs import Index, block_ends, run_pieces

Limits = tuple[tuple[bytes, int] | None, tuple[bytes, int] | None]


def sorted_run(form: Form, batch: Any, block_bytes: int) -> tuple[list[Buffer], int]:
    """The run of one chunk's records, in pieces, and how many records it has."""
    records = form.sorted(batch)
    del batch
    offsets = form.offsets(records)
    ends = block_ends(offsets, block_bytes, lambda at: len(form.key_bytes(records[at])))
    edges = [0, *ends]
    joined = memoryview(form.join(records))
    blocks = [joined[offsets[start] : offsets[end]] for start, end in pairwise(edges)]
    keys = [form.key_bytes(records[start]) for start in edges[:-1]]
    last = form.key_bytes(records[-1]) if records else None
    index = Index(
        plain=True,
        sizes=list(map(len, blocks)),
        counts=[end - start for start, end in pairwise(edges)],
        ranks=bytes([ORDINARY]) * len(blocks),
        keys=[*keys, last],
    )
    return run_pieces(index, blocks, {"items": len(records), "failures": []}), len(records)


def merged(form: Form, limits: Limits, fetched: Iterable[tuple[Piece, memoryview]]) -> Sequence[Any]:
    """The records of one partition in order, from the bytes of its pieces in the order of runs.

    Args:
        form: what records are.
        limits: key and run of the boundaries at which the partition begins and ends; None at either end of all.
        fetched: the pieces with their bytes.
    """
    low, high = limits
    batches = []
    for piece, data in fetched:
        batch = form.batch(data)
        if low and piece.begins_within:
            _, batch = form.cut(batch, low[0], behind=piece.run < low[1])
        if high and piece.ends_within:
            batch, _ = form.cut(batch, high[0], behind=piece.run < high[1])
        batches.append(batch)
    gathered = form.concat(batches)
    del batches
    # What comes out of each run is in order, and the sorts of Python and NumPy merge such stretches as they are.
    return form.sorted(gathered)
