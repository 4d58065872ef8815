"""Jobs that are longer than a worker may live, and items that are too."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from bellwren import cost
from tests.engine.harness import Engine


def test_a_job_longer_than_a_workers_time_ends_over_several_rounds(engine: Engine) -> None:
    stretch = engine.stretch()

    def item(x: int) -> int:
        time.sleep(0.2 * stretch)
        return x

    outcome = engine.map(item, range(24), workers=1, timeout_s=3.0 * stretch)
    assert outcome.result() == list(range(24))
    assert outcome.plan["rounds"] >= 3
    assert outcome.lost == 0


def test_what_a_round_has_done_of_a_task_the_next_does_not_do_again(engine: Engine, tmp_path: Path) -> None:
    stretch = engine.stretch()

    def item(x: int) -> int:
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")
        time.sleep(0.1 * stretch)
        return x

    # One task for each worker would be too little to see it: 40 items are 16 tasks of two or three.
    outcome = engine.map(item, range(40), workers=1, timeout_s=3.0 * stretch)
    assert outcome.result() == list(range(40))
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran.values()) == {1}, "runners pause between two items, so none is cut off"


def test_an_item_that_fits_into_no_invocation_times_out_alone(engine: Engine) -> None:
    stretch = engine.stretch()

    def item(x: int) -> int:
        time.sleep(60 * stretch if x == 9 else 0.01)
        return x

    outcome = engine.map(item, range(20), workers=1, timeout_s=3.0 * stretch, tolerate=0.1)
    results = outcome.result()
    assert [one for x, one in enumerate(results) if x != 9] == [x for x in range(20) if x != 9]
    kind, message = outcome.failures[9]
    assert kind == "TimedOut"
    assert "worker timeout" in message
    assert len(outcome.lives) <= 4


def test_a_shuffle_goes_on_where_its_worker_stopped(engine: Engine, tmp_path: Path) -> None:
    stretch = engine.stretch()

    def pairs(x: int) -> list[tuple[int, int]]:
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")
        time.sleep(0.1 * stretch)
        return [(x % 2, x)]

    running = {"workers": 1, "timeout_s": 3.0 * stretch}
    outcome = engine.map_reduce(pairs, range(32), lambda _, values: list(values), **running)
    assert outcome.result() == {0: list(range(0, 32, 2)), 1: list(range(1, 32, 2))}
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran.values()) == {1}


def test_rounds_without_progress_end_the_job_and_say_so(engine: Engine) -> None:
    outcome = engine.map(lambda x: x, range(4), workers=2, launch=lambda workers: [])
    assert outcome.status["status"] == "FAILED"
    assert outcome.status["error"]["type"] == "NoProgress"
    assert outcome.plan["rounds"] == 2


@pytest.mark.parametrize("spared", [0, 1, 2])
def test_a_start_that_is_throttled_to_fewer_workers_changes_nothing_but_the_time(
    engine: Engine, spared: int
) -> None:
    outcome = engine.map(
        lambda x: -x, range(60), workers=3, launch=lambda workers: workers[spared : spared + 1]
    )
    assert outcome.result() == [-x for x in range(60)]
    assert len(outcome.lives) == 1


def test_a_job_over_its_budget_stops_with_what_it_has_and_says_so(engine: Engine) -> None:
    stretch = engine.stretch()

    def item(x: int) -> int:
        time.sleep(0.02 * stretch)
        return x

    without_work = sum(cost.lines(cost.around(1)).values())
    second = sum(cost.lines(cost.Usage(worker_gb_s=cost.billed_gb_s(1769, 1.0))).values())
    budget_usd = without_work + 3 * stretch * second
    outcome = engine.map(item, range(400), workers=1, budget_usd=budget_usd)
    assert outcome.status["status"] == "FAILED"
    assert outcome.status["error"]["type"] == "BudgetExceeded"
    done = outcome.status["progress"]["done"]
    assert 0 < done < 16
    assert len(list(engine.store.list(f"jobs/{outcome.job_id}/results/"))) == done
    assert outcome.record["cost_usd"] == pytest.approx(budget_usd, rel=0.2)
