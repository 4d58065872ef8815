"""Where a task is cut behind a slow item, and when it is worth asking."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine import idle
from bellwren.engine.attempt import Work
from bellwren.engine.claims import Board, read_board
from bellwren.engine.outrun import due
from bellwren.engine.sharing import Sharing, look_again_s, splits


@pytest.mark.parametrize(
    ("position", "stops", "count", "expected"),
    [
        (0, [], 1, []),
        (0, [], 2, [1]),
        (0, [], 3, [1, 2]),
        (0, [], 11, [1, 6]),
        (5, [], 11, [6, 9]),
        (5, [6, 9], 11, []),
        (6, [6, 9], 11, [7, 8]),
        (7, [], None, [8]),
        (7, [8], None, []),
    ],
)
def test_the_rest_is_cut_right_behind_the_item_and_in_the_middle(
    position: int, stops: list[int], count: int | None, expected: list[int]
) -> None:
    assert splits(position, stops, count) == expected


@given(st.integers(0, 50), st.lists(st.integers(0, 60)), st.none() | st.integers(1, 60))
def test_cuts_lie_behind_the_item_and_before_the_next_stop(
    position: int, stops: list[int], count: int | None
) -> None:
    end = min([stop for stop in stops if stop > position], default=count)
    for cut in splits(position, stops, count):
        assert cut > position
        assert end is None or cut < end


def test_names_of_claims_say_what_they_are() -> None:
    names = [
        "000001",
        "000002",
        "000001.backup",
        "000002.000000005",
        "000002.000000005.open",
        "000003.000000000.open",
    ]
    assert read_board(names) == Board({1, 2}, [(2, 5), (3, 0)], {(2, 5)})


def test_claims_are_looked_at_again_when_half_of_the_rest_may_be_gone() -> None:
    assert look_again_s(40, 4, 0.2, 0.5) == 1.0
    assert look_again_s(1, 4, 0.2, 0.5) == 0.2
    assert look_again_s(10, 4, 0.0, 0.4) == 0.8


@given(st.integers(0, 10_000), st.integers(1, 1000), st.floats(0, 1000), st.floats(0.2, 5))
def test_no_look_is_later_than_idle_workers_wait(
    unclaimed: int, workers: int, pace_s: float, last_s: float
) -> None:
    assert look_again_s(unclaimed, workers, pace_s, last_s) < idle.WAIT_S


def test_a_long_task_is_looked_up_seldom() -> None:
    looks, asked = 0, 0.0
    for tick in range(4 * 600):
        if due(tick / 4, asked):
            looks, asked = looks + 1, tick / 4
    assert 20 < looks < 60
    assert not due(0.9, 0.0)


@pytest.mark.parametrize(("how", "expected"), [("home", [3]), ("steal", [3]), ("share", [])])
def test_what_was_taken_over_from_another_is_not_offered_again_since_nobody_could_claim_it(
    how: str, expected: list[int]
) -> None:
    offered: list[int] = []

    class Io:
        async def call(self, _: Any, task: int, start: int) -> None:
            offered.append(task)

    async def offer() -> int:
        sharing = Sharing(
            cast(Any, Io()),
            cast(Any, type("Claims", (), {"offer": None})),
            cast(Any, None),
            cast(Any, None),
            workers=2,
            pace_s=float,
        )
        sharing.queue.put_nowait(Work(task=3, head={}, how=how))
        await sharing._offer_queue()
        return sharing.queue.qsize()

    left = asyncio.run(offer())
    assert offered == expected
    assert left == 1 - len(expected)
