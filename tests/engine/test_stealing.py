"""Skewed inputs, slow items and stragglers, measured in real runs. Items sleep, so a busy machine counts for little."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bellwren.engine.claims import leftover_order
from tests.engine.harness import Engine, Outcome

timed = pytest.mark.skipif(
    not os.environ.get("BELLWREN_TIMED"),
    reason="measures time, for a quiet machine: make timed (BELLWREN_TIMED=1)",
)
START_S = 0.7
"""What a worker may need before its first item and after its last, on a machine that is busy."""


def wall_s(outcome: Outcome) -> float:
    return float(outcome.record["stages"][0]["wall_s"])


def slowness(engine: Engine) -> float:
    """How much longer than its ideal an even input takes on this machine just now: 1.0 if it is quiet."""
    outcome = engine.map(lambda x: time.sleep(0.03), range(100), workers=2)
    outcome.result()
    return max(1.0, (wall_s(outcome) - START_S) / 1.5)


SKEWS: dict[str, list[float]] = {
    "one a hundred times the others": [0.03] * 100 + [3.0] + [0.03] * 99,
    "rising": [0.06 * n / 100 for n in range(200)],
    "falling": [0.06 * (200 - n) / 100 for n in range(200)],
    "all in one task": [0.002] * 96 + [0.6] * 7 + [0.002] * 97,
}


@timed
@pytest.mark.parametrize("skew", SKEWS)
def test_skewed_items_end_within_1_3_times_the_ideal(engine: Engine, skew: str) -> None:
    costs = SKEWS[skew]
    outcome = engine.map(lambda x: time.sleep(costs[x]), range(len(costs)), workers=2)
    outcome.result()
    ideal = max(sum(costs) / 2, *costs)
    assert wall_s(outcome) <= 1.3 * ideal * slowness(engine) + START_S


@timed
@pytest.mark.parametrize("place", [0, 1, 50, 199])
def test_a_slow_item_delays_no_other(engine: Engine, tmp_path: Path, place: int) -> None:
    """What waits behind it, in its task or in tasks claimed ahead, is done by the other worker long before."""

    def item(x: int) -> int:
        time.sleep(5.0 if x == place else 0.005)
        with open(tmp_path / "ended", "a") as file:
            file.write(f"{time.monotonic()} {x}\n")
        return x

    outcome = engine.map(item, range(200), workers=2)
    assert outcome.result() == list(range(200))
    ended = dict(reversed(line.split()) for line in (tmp_path / "ended").read_text().splitlines())
    slow = float(ended.pop(str(place)))
    assert len(ended) == 199
    assert slow - max(map(float, ended.values())) > 1.0
    assert outcome.record["lost_runners"] == 0


@timed
def test_a_slow_record_delays_no_other(engine: Engine, tmp_path: Path) -> None:
    """Nobody knows how many records a task has, nor its last one."""
    engine.data.put("lines/some.txt", b"".join(b"%d\n" % x for x in range(50)))
    uri = f"s3://{engine.buckets['data']}/lines/some.txt"

    def item(line: str) -> str:
        time.sleep(3.0 if line == "20" else 0.01)
        with open(tmp_path / "ended", "a") as file:
            file.write(f"{time.monotonic()} {line}\n")
        return line

    import bellwren

    outcome = engine.map(item, bellwren.lines(uri), workers=2)
    assert outcome.result() == [str(x) for x in range(50)]
    ended = dict(reversed(line.split()) for line in (tmp_path / "ended").read_text().splitlines())
    slow = float(ended.pop("20"))
    if outcome.plan["stages"]["map"]["tasks"] > 1 or len(outcome.lives) > 1:
        assert slow > max(map(float, ended.values()))


@timed
def test_several_slow_items_of_one_task_are_shared_out(engine: Engine, tmp_path: Path) -> None:
    """Each gives the rest away again, and the pieces make one part."""

    def item(x: int) -> None:
        began = time.monotonic()
        time.sleep(1.5 if x in (96, 97, 98, 99) else 0.001)
        if 96 <= x < 100:
            with open(tmp_path / "slow", "a") as file:
                file.write(f"{x} {began} {time.monotonic()}\n")

    outcome = engine.map(item, range(400), workers=3)
    assert outcome.result() == [None] * 400
    rows = [line.split() for line in (tmp_path / "slow").read_text().splitlines()]
    spans = sorted((float(began), float(ended), x) for x, began, ended in rows)
    assert any(other[0] < one[1] and other[2] != one[2] for one, other in pairwise(spans)), (
        "two different ones of them ran at the same time"
    )


@timed
def test_a_straggler_is_backed_up_and_outrun(engine: Engine, tmp_path: Path) -> None:
    """The worker itself is slow here, not the item: run again elsewhere it is quick."""

    def item(x: int) -> int:
        mark = tmp_path / "slow"
        if x == 0 and not mark.exists():
            mark.touch()
            time.sleep(12)
        else:
            time.sleep(0.03)
        return x

    outcome = engine.map(item, range(64), workers=2)
    assert outcome.result() == list(range(64))
    assert outcome.record["stages"][0]["backups"] >= 1
    assert wall_s(outcome) < 11.5
    assert outcome.record["lost_runners"] == 0


def test_in_a_later_round_each_worker_begins_with_another_of_the_urgent_tasks() -> None:
    left = [7, 3, 9, 1, 2, 4]
    orders = [list(leftover_order(worker, 3, left)) for worker in range(3)]
    assert [order[0] for order in orders] == [7, 3, 9]
    assert all(sorted(order) == sorted(left) for order in orders)


def test_fewer_tasks_than_workers_leave_some_with_nothing(engine: Engine) -> None:
    outcome: Any = engine.map(abs, [-1, -2], workers=5)
    assert outcome.result() == [1, 2]
    assert len(outcome.lives) == 2


def test_one_worker_alone_needs_one_round_however_slow_its_items(engine: Engine, tmp_path: Path) -> None:
    def item(x: int) -> int:
        time.sleep(0.8)
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")
        return x

    outcome = engine.map(item, range(4), workers=1)
    assert outcome.result() == list(range(4))
    assert outcome.plan["rounds"] == 1
    assert sorted((tmp_path / "ran").read_text().split()) == list("0123")


def test_what_the_owner_of_everything_gave_away_it_takes_back_itself(engine: Engine) -> None:
    def item(x: int) -> int:
        time.sleep(1.5 if x == 0 else 0.8)
        return x

    # The second worker is one that never starts.
    outcome = engine.map(item, range(3), workers=2, launch=lambda workers: workers[:1])
    assert outcome.result() == [0, 1, 2]
    assert outcome.plan["rounds"] == 1
