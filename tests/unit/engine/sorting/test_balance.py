"""Partitions are of about equal size, whatever the keys are."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from bellwren.engine.sorting.blocks import BlockForm
from bellwren.engine.sorting.forms import LineForm
from tests.unit.engine.sorting.jobs import sort_keyed, sort_plain

TASKS = 8
RECORDS = 1_000
PARTITIONS = 8
BLOCK_BYTES = 20 * RECORDS // (3 * (TASKS + 1))
"""Small enough for the bound: (W + 1)·b <= P/3."""


def spread_evenly(task: int, at: int) -> int:
    return random.Random(task * RECORDS + at).getrandbits(64)


def all_the_same(task: int, at: int) -> int:
    return 7


def in_order(task: int, at: int) -> int:
    return task * RECORDS + at


def reversed_order(task: int, at: int) -> int:
    return TASKS * RECORDS - task * RECORDS - at


def ninety_percent_one_key(task: int, at: int) -> int:
    return 5 if at % 10 else random.Random(task * RECORDS + at).getrandbits(20)


def two_keys(task: int, at: int) -> int:
    return at % 2


def the_same_in_every_task(task: int, at: int) -> int:
    return at


def most_at_the_low_end(task: int, at: int) -> int:
    return int(2 ** (random.Random(task * RECORDS + at).random() * 60))


KEYS = [
    spread_evenly,
    all_the_same,
    in_order,
    reversed_order,
    ninety_percent_one_key,
    two_keys,
    the_same_in_every_task,
    most_at_the_low_end,
]
each_distribution = pytest.mark.parametrize("key", KEYS, ids=[key.__name__ for key in KEYS])


@each_distribution
def test_partitions_of_blocks_are_within_a_factor_of_two(key: Callable[[int, int], int]) -> None:
    form = BlockForm(20, 10)
    tasks = [
        b"".join(key(task, at).to_bytes(10, "big") + b"%010d" % at for at in range(RECORDS))
        for task in range(TASKS)
    ]
    parts = sort_plain(form, tasks, PARTITIONS, BLOCK_BYTES)
    assert [record for part in parts for record in part] == sorted(
        (tasks[task][at : at + 20] for task in range(TASKS) for at in range(0, 20 * RECORDS, 20)),
        key=lambda record: record[:10],
    )
    assert max(map(len, parts)) <= 2 * min(map(len, parts))


@each_distribution
def test_partitions_of_lines_are_within_a_factor_of_two(key: Callable[[int, int], int]) -> None:
    form = LineForm(b"\n", 19)
    tasks = [b"".join(b"%019d\n" % key(task, at) for at in range(RECORDS)) for task in range(TASKS)]
    parts = sort_plain(form, tasks, PARTITIONS, BLOCK_BYTES)
    assert max(map(len, parts)) <= 2 * min(map(len, parts))


@each_distribution
def test_partitions_of_values_are_within_a_factor_of_two(key: Callable[[int, int], int]) -> None:
    tasks = [[f"{key(task, at):020d}" for at in range(RECORDS)] for task in range(TASKS)]
    parts = sort_keyed(lambda value: value, tasks, PARTITIONS, 2 * BLOCK_BYTES)
    assert max(map(len, parts)) <= 2 * min(map(len, parts))


@pytest.mark.parametrize("missing", [None, float("nan")], ids=["None", "NaN"])
def test_records_without_a_key_are_spread_over_partitions_too(missing: float | None) -> None:
    parts = sort_keyed(lambda value: missing, [range(300)] * 4, 4, 200)
    assert max(map(len, parts)) <= 2 * min(map(len, parts))
    assert [(task, at) for part in parts for _, task, at in part] == [
        (task, at) for task in range(4) for at in range(300)
    ]


def test_lines_that_are_longer_than_a_block_still_part() -> None:
    form = LineForm(b"\n", None)
    tasks = [b"".join(b"%06d" % (at * 8 + task) * 100 + b"\n" for at in range(80)) for task in range(8)]
    parts = sort_plain(form, tasks, 4, 1000)
    assert sum(map(len, parts)) == 640
    assert max(map(len, parts)) < 640
