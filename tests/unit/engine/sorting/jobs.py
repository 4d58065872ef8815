"""A whole sort in one process: runs, boundaries and merges, as the workers do them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bellwren.engine.sorting import boundaries, keyed, partition, plain, runs
from bellwren.engine.sorting.forms import Form


def plain_run(form: Form, batch: Any, block_bytes: int) -> bytes:
    """The object of a run of lines or blocks."""
    pieces, count = plain.sorted_run(form, batch, block_bytes)
    data = b"".join(pieces)
    assert runs.note(data) == {"items": count, "failures": []}
    return data


def opened(objects: Sequence[bytes]) -> tuple[list[runs.Index], list[bytes]]:
    """Index and blocks of each run."""
    indexes, blocks = [], []
    for data in objects:
        index_span, block_span = runs.spans(data[: runs.HEAD_BYTES])
        indexes.append(runs.Index.from_bytes(data[slice(*index_span)]))
        blocks.append(data[slice(*block_span)])
    return indexes, blocks


def partitions(objects: Sequence[bytes], count: int, step: int = 1) -> list[list[Any]]:
    """What each merge task gives, where keys may be of any type; ``step``: which entries are looked at."""
    indexes, blocks = opened(objects)
    limits = thin_limits(indexes, count, step)
    cuts = [partition.run_cuts(index, run, limits) for run, index in enumerate(indexes)]
    ends = [None, *limits, None]
    return [
        keyed.merged(
            (ends[number], ends[number + 1]),
            [
                (one, memoryview(blocks[one.run])[one.start : one.end])
                for one in partition.pieces(cuts, number)
            ],
        )
        for number in range(count)
    ]


def plain_partitions(objects: Sequence[bytes], count: int, form: Form, step: int = 1) -> list[list[Any]]:
    """What each merge task gives, where keys are bytes; ``step``: which entries of the indexes are looked at."""
    indexes, blocks = opened(objects)
    limits = thin_limits(indexes, count, step)
    cuts = [partition.run_cuts(index, run, limits) for run, index in enumerate(indexes)]
    ends = [None, *((limit.key, limit.task) for limit in limits), None]
    return [
        plain.merged(
            form,
            (ends[number], ends[number + 1]),
            [
                (one, memoryview(blocks[one.run])[one.start : one.end])
                for one in partition.pieces(cuts, number)
            ],
        )
        for number in range(count)
    ]


def thin_limits(indexes: Sequence[runs.Index], count: int, step: int) -> list[boundaries.Boundary]:
    return boundaries.boundaries([partition.thinned(index, step) for index in indexes], count)


def sort_plain(
    form: Form, tasks: Sequence[bytes], count: int, block_bytes: int, step: int = 1
) -> list[list[Any]]:
    objects = [plain_run(form, form.batch(task), block_bytes) for task in tasks]
    return plain_partitions(objects, count, form, step)


def sort_keyed(
    key: Callable[[Any], Any], tasks: Sequence[Sequence[Any]], count: int, block_bytes: int, step: int = 1
) -> list[list[Any]]:
    """Records are lists ``[value, task, position]``, so that equal keys can be told apart."""
    objects = []
    for number, task in enumerate(tasks):
        sorter = keyed.Sorter()
        for position, value in enumerate(task):
            sorter.add(key(value), json.dumps([repr(value), number, position]).encode())
        objects.append(b"".join(sorter.run(block_bytes, {"items": len(task), "failures": []})))
    return [list(map(json.loads, part)) for part in partitions(objects, count, step)]
