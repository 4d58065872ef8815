"""The object of a run, and what a merge task reads of it."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import pytest

from bellwren.engine.sorting import boundaries, keyed, partition, runs
from bellwren.engine.sorting.blocks import BlockForm
from bellwren.engine.sorting.forms import LineForm
from bellwren.errors import InputError
from tests.unit.engine.sorting.jobs import opened, plain_run


def pieces(
    indexes: Sequence[runs.Index], limits: Sequence[boundaries.Boundary], number: int
) -> list[partition.Piece]:
    cuts = [partition.run_cuts(index, run, limits) for run, index in enumerate(indexes)]
    return partition.pieces(cuts, number)


def test_the_index_of_a_plain_run_unpickles_nothing() -> None:
    data = plain_run(LineForm(b"\n", None), ["b" * 40, "a", "c"], 3)
    start, end = runs.spans(data)[0]
    assert runs.Index.is_plain(data[start:end])
    index = runs.Index.from_bytes(data[start:end])
    assert list(index.keys) == [b"a", b"c", b"c"]
    assert (list(index.sizes), list(index.counts), list(index.ranks)) == ([43, 2], [2, 1], [0, 0])


def test_a_run_of_keys_of_any_type_says_that_it_is_not_plain() -> None:
    sorter = keyed.Sorter()
    sorter.add(1, b"one")
    data = b"".join(sorter.run(100, {}))
    start, end = runs.spans(data)[0]
    assert not runs.Index.is_plain(data[start:end])


def test_a_run_of_nothing_has_no_blocks() -> None:
    for data in (plain_run(BlockForm(4, None), b"", 10), b"".join(keyed.Sorter().run(10, {"items": 0}))):
        (index,), (blocks,) = opened([data])
        assert (len(index), blocks) == (0, b"")
    assert pieces([index], boundaries.boundaries([index], 3), 1) == []


def test_the_note_says_how_a_run_came_about() -> None:
    assert runs.note(plain_run(LineForm(b"\n", None), ["b"], 3)) == {"items": 1, "failures": []}
    assert runs.note(b"".join(keyed.Sorter().run(10, {"items": 7}))) == {"items": 7}


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(InputError, match="not a sorted run"):
        runs.spans(b"BWS1" + bytes(16))


def test_a_long_first_key_makes_its_block_longer_so_that_the_index_stays_small() -> None:
    lines = [f"{at:06d}" * 50 for at in range(300)]
    data = plain_run(LineForm(b"\n", None), lines, 1)
    index_start, index_end = runs.spans(data)[0]
    assert index_end - index_start < len(data) / 20


def test_records_that_arrive_in_two_parts_make_the_run_of_all() -> None:
    values = [(random.Random(at).choice([1, 2.5, None, float("nan")]), b"%d" % at) for at in range(50)]
    whole, first, second = keyed.Sorter(), keyed.Sorter(), keyed.Sorter()
    for at, (key, value) in enumerate(values):
        whole.add(key, value)
        (first if at < 20 else second).add(key, value)
    halfway = b"".join(first.run(20, {}))
    resumed = keyed.Sorter()
    resumed.load(halfway[slice(*runs.spans(halfway)[1])])
    for key, value in values[20:]:
        resumed.add(key, value)
    assert resumed.values() == whole.values()


def test_a_partition_reads_little_more_of_the_runs_than_it_needs() -> None:
    """The blocks at its two ends of each run; each byte range once, in the order of runs."""
    tasks, block_bytes = 6, 2_000
    objects = [plain_run(BlockForm(100, 10), os.urandom(100_000), block_bytes) for _ in range(tasks)]
    indexes, _ = opened(objects)
    limits = boundaries.boundaries(indexes, 5)
    wanted = [pieces(indexes, limits, number) for number in range(5)]
    assert all([part.run for part in parts] == sorted({part.run for part in parts}) for parts in wanted)
    total = sum(part.end - part.start for parts in wanted for part in parts)
    assert 600_000 <= total <= 600_000 + 4 * tasks * block_bytes


def test_a_boundary_within_equal_keys_cuts_no_block() -> None:
    objects = [plain_run(BlockForm(10, 5), b"same-12345" * 500, 100) for _ in range(4)]
    indexes, _ = opened(objects)
    limits = boundaries.boundaries(indexes, 6)
    total = sum(part.end - part.start for n in range(6) for part in pieces(indexes, limits, n))
    assert total <= 20_000 + 6 * 200
