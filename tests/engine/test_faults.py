"""Faults at named steps, scripted, with what happens counted exactly. A step is a request, so nothing in the engine is
made for these tests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bellwren import layout
from bellwren.control import plan as planning
from bellwren.control.finish import finish
from bellwren.control.reports import read_stage
from bellwren.engine.stage import Stage
from tests.engine.harness import Engine, Outcome
from tests.engine.proxy import Fault, Proxy

CLAIM = r"/claims/0/\d{6}$"
PART = r"/results/part-"
SHUFFLED = r"/map/out/"
REPORT = r"/workers/"
ITEMS = range(24)
STEPS = {
    "its start": Fault("kill", "plan.json"),
    "reading the table": Fault("kill", "tasks.json"),
    "reading the code": Fault("kill", "/code/"),
    "a claim": Fault("kill", CLAIM, method="PUT", skip=3),
    "a claim that arrived": Fault("late-kill", CLAIM, method="PUT", skip=3),
    "a commit": Fault("kill", PART, method="PUT", skip=2),
    "a commit that arrived": Fault("late-kill", PART, method="PUT", skip=2),
    "its report": Fault("kill", REPORT, method="PUT"),
    "its report that arrived": Fault("late-kill", REPORT, method="PUT"),
}


def tenfold(x: int) -> int:
    return x * 10


def pairs(x: int) -> list[tuple[int, int]]:
    return [(x % 3, x)]


def total(_: int, values: Any) -> int:
    return sum(values)


def committed(outcome: Outcome, stage: str = "map") -> tuple[int, int, int]:
    document = outcome.plan["stages"][stage]
    report = read_stage(outcome.store, outcome.job_id, Stage.from_dict(document))
    return len(report.committed), report.items, report.failed


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_killed_at_any_step_costs_nothing(
    engine: Engine, proxy: Proxy, step: str, workers: int
) -> None:
    fault = Fault(**{**STEPS[step].__dict__, "hits": 0, "seen": 0})
    with proxy.disturbed_by(fault) as script:
        outcome = engine.map(tenfold, ITEMS, workers=workers)
    assert outcome.result() == [x * 10 for x in ITEMS]
    assert fault.hits == 1
    assert outcome.lost == 1
    assert len(outcome.lives) == workers + 1
    assert outcome.plan["rounds"] == 1
    assert script.count("PUT", REPORT) >= workers


@pytest.mark.parametrize("step", [PART, CLAIM, SHUFFLED, REPORT, "/trail/", "tasks.json"])
def test_workers_killed_at_the_same_step_in_each_life_leave_the_rest_to_the_next_round(
    engine: Engine, proxy: Proxy, step: str
) -> None:
    with proxy.disturbed_by(Fault("kill", step, times=4)):
        outcome = engine.map_reduce(pairs, ITEMS, total, workers=1)
    assert outcome.result() == {rest: sum(range(rest, 24, 3)) for rest in range(3)}


@pytest.mark.parametrize("path", [CLAIM, PART, SHUFFLED, REPORT])
@pytest.mark.parametrize("action", ["lose", "refuse", "tear"])
def test_requests_that_fail_or_whose_answer_is_lost_are_made_again_and_count_once(
    engine: Engine, proxy: Proxy, path: str, action: Any
) -> None:
    with proxy.disturbed_by(Fault(action, path, method="PUT", times=3)) as script:
        outcome = engine.map_reduce(pairs, ITEMS, total, workers=1)
    assert outcome.result() == {rest: sum(range(rest, 24, 3)) for rest in range(3)}
    assert not outcome.errors
    assert outcome.lost == 0
    assert outcome.record["lost_runners"] == 0
    assert script.count("PUT", CLAIM) >= 16
    assert [stage["items"] for stage in outcome.record["stages"]] == [24, 3]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_slow_down_is_waited_for(engine: Engine, proxy: Proxy, status: int) -> None:
    # No more than a single request is sent again: where one worker starts late, the other's first one meets them all.
    with proxy.disturbed_by(Fault("refuse", skip=5, times=12, status=status)):
        outcome = engine.map(tenfold, ITEMS, workers=2)
    assert outcome.result() == [x * 10 for x in ITEMS]
    assert not outcome.errors
    assert outcome.lost == 0


def test_reads_that_break_off_are_made_again(engine: Engine, proxy: Proxy) -> None:
    with proxy.disturbed_by(Fault("tear", method="GET", times=6)):
        outcome = engine.map_reduce(pairs, ITEMS, total, workers=2)
    assert outcome.result() == {rest: sum(range(rest, 24, 3)) for rest in range(3)}


def test_a_claim_whose_answer_is_lost_is_still_ones_own(engine: Engine, proxy: Proxy) -> None:
    with proxy.disturbed_by(Fault("lose", CLAIM, method="PUT", times=1)) as script:
        outcome = engine.map(tenfold, range(4), workers=1)
    assert outcome.result() == [0, 10, 20, 30]
    tasks = [task for worker in reports(outcome) for task in worker["tasks"]]
    assert [task["how"] for task in tasks] == ["home"] * 4
    assert script.count("PUT", PART) == 4


def test_a_commit_whose_answer_is_lost_is_reported_as_ones_own(engine: Engine, proxy: Proxy) -> None:
    with proxy.disturbed_by(Fault("lose", PART, method="PUT", times=2)):
        outcome = engine.map(print, range(4), workers=1)
    tasks = [task for worker in reports(outcome) for task in worker["tasks"]]
    assert [task["outcome"] for task in tasks] == ["committed"] * 4
    assert len(list(engine.store.list(layout.logs(outcome.job_id)))) == 4


def reports(outcome: Outcome) -> list[dict[str, Any]]:
    """Of a job that has ended, from its record's stages; the working keys are gone, so they are read before."""
    return KEPT[outcome.job_id]


KEPT: dict[str, list[dict[str, Any]]] = {}


@pytest.fixture(autouse=True)
def _keep_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working keys of a job go with its end: look at them just before."""
    import tests.engine.harness as harness

    def finishing(state: dict[str, Any], deployment: Any) -> dict[str, Any]:
        store = harness.Store(deployment.jobs_bucket)
        prefix = layout.work(state["job_id"])
        KEPT[state["job_id"]] = [
            store.get_json(entry.key) for entry in store.list(prefix) if "/workers/" in entry.key
        ]
        return finish(state, deployment)

    monkeypatch.setattr(harness, "finish", finishing)


@pytest.mark.parametrize("kind", ["map", "map_reduce"])
def test_d02_every_worker_started_thrice_changes_nothing(engine: Engine, kind: str) -> None:
    launch = {"launch": lambda workers: workers * 3}
    if kind == "map":
        outcome = engine.map(tenfold, range(60), workers=2, **launch)
        assert outcome.result() == [x * 10 for x in range(60)]
    else:
        outcome = engine.map_reduce(lambda x: [("k", 1)], range(100), total, workers=2, **launch)
        assert outcome.result() == {"k": 100}
    assert [stage["failed"] for stage in outcome.record["stages"]] == [0] * len(outcome.record["stages"])
    assert outcome.record["stages"][0]["items"] == (60 if kind == "map" else 100)


def test_duplicates_of_a_worker_that_is_slow_blame_no_item(engine: Engine) -> None:
    def item(x: int) -> int:
        time.sleep(1.2 if x == 2 else 0.05)
        return x

    outcome = engine.map(item, range(6), workers=1, retries=0, launch=lambda workers: workers * 4)
    assert outcome.result() == list(range(6))


def test_a_lost_report_changes_no_count(engine: Engine, proxy: Proxy) -> None:
    def item(x: int) -> int:
        if x % 5 == 0:
            raise ValueError(x)
        return x

    told = engine.map(item, ITEMS, workers=1, tolerate=0.5)
    with proxy.disturbed_by(Fault("kill", REPORT, method="PUT", times=4)):
        untold = engine.map(item, ITEMS, workers=1, tolerate=0.5)
    assert untold.lost == 4
    assert untold.failures == told.failures
    assert untold.status["failed"] == told.status["failed"] == 5
    assert (
        [s["items"] for s in untold.record["stages"]] == [s["items"] for s in told.record["stages"]] == [24]
    )


def test_finish_run_twice_gives_one_record_and_the_same_status(engine: Engine) -> None:
    outcome = engine.map(tenfold, ITEMS, workers=1)
    before = {entry.key: entry.etag for entry in engine.store.list(layout.job(outcome.job_id))}
    state = {"job_id": outcome.job_id, "error": {"Error": "Late", "Cause": "late"}}
    assert finish(state, outcome.deployment) == {"status": "SUCCEEDED"}
    assert {entry.key: entry.etag for entry in engine.store.list(layout.job(outcome.job_id))} == before


def test_plan_run_twice_gives_the_same_answer(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.engine.harness as harness

    answers = []

    def twice(state: dict[str, Any], deployment: Any) -> dict[str, Any]:
        first = planning.plan(state, deployment)
        written = engine.store.find_with_etag(layout.plan(state["job"]["job_id"]))
        answers.append((first, planning.plan(state, deployment)))
        assert engine.store.find_with_etag(layout.plan(state["job"]["job_id"])) == written
        return first

    monkeypatch.setattr(harness, "plan", twice)
    outcome = engine.map_reduce(pairs, ITEMS, total, workers=2)
    assert outcome.result() == {rest: sum(range(rest, 24, 3)) for rest in range(3)}
    assert all(first == second for first, second in answers)
    assert [first["next"] for first, _ in answers] == ["MAP", "REDUCE", "FINISH"]


def test_two_plans_at_once_give_one_answer(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.engine.harness as harness

    def both(state: dict[str, Any], deployment: Any) -> dict[str, Any]:
        found: list[Any] = []

        def call() -> None:
            try:
                found.append(planning.plan(state, deployment))
            except RuntimeError as error:  # the state machine would retry
                found.append(error)

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answers = [one for one in found if isinstance(one, dict)]
        assert answers
        assert all(one == answers[0] for one in answers)
        return answers[0]

    monkeypatch.setattr(harness, "plan", both)
    outcome = engine.map_reduce(pairs, ITEMS, total, workers=2)
    assert outcome.result() == {rest: sum(range(rest, 24, 3)) for rest in range(3)}


def test_a_worker_that_comes_late_to_a_job_that_has_ended_touches_nothing(engine: Engine) -> None:
    outcome = engine.map(tenfold, ITEMS, workers=2)
    before = {entry.key: entry.etag for entry in engine.store.list()}
    with engine._environment() as environment:
        event = {"job_id": outcome.job_id, "stage": "map", "round": 0, "worker": 1}
        assert environment.call(event, memory_mb=1769, timeout_s=30) == {"result": {}}
    assert {entry.key: entry.etag for entry in engine.store.list()} == before


@pytest.mark.parametrize("skew_s", [(0.001, -3600.0), (3600.0, 0.001), (1e6, -1e6)])
def test_clocks_that_disagree_change_no_result(engine: Engine, skew_s: tuple[float, ...]) -> None:
    outcome = engine.map(tenfold, range(40), workers=2, skew_s=skew_s)
    assert outcome.result() == [x * 10 for x in range(40)]


def test_a_worker_whose_requests_hang_is_outrun(engine: Engine, proxy: Proxy, tmp_path: Path) -> None:
    """Its tasks are taken up by the other: each result is one worker's, whole."""

    def letters(x: int) -> str:
        return "ab"[x % 2] * 500_000

    with proxy.disturbed_by(Fault("delay", PART, method="PUT", seconds=4, times=1)):
        outcome = engine.map(letters, range(8), workers=2)
    assert outcome.result() == ["ab"[x % 2] * 500_000 for x in range(8)]


def test_items_run_once_each_where_nothing_goes_wrong(engine: Engine, tmp_path: Path) -> None:
    def item(x: int) -> None:
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")

    engine.map(item, range(200), workers=3)
    assert Counter((tmp_path / "ran").read_text().split()) == Counter(map(str, range(200)))


def test_an_items_side_effects_repeat_only_for_what_was_lost(
    engine: Engine, proxy: Proxy, tmp_path: Path
) -> None:
    def item(x: int) -> None:
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")

    with proxy.disturbed_by(Fault("late-kill", PART, method="PUT", skip=4)):
        outcome = engine.map(item, range(32), workers=1)
    outcome.result()
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran) == set(map(str, range(32)))
    # Of 16 tasks of two items, those at work and in flight when the worker died.
    assert sum(count - 1 for count in ran.values()) <= 2 * 9
