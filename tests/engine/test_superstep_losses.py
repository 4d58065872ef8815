"""Supersteps under fire: whoever is killed, whenever, the result is the one of an undisturbed run.

Reported fault H09, messages that come twice after a loss, is shown by each of them: ``chatter`` keeps every message.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from bellwren import layout
from tests.engine.harness import Engine
from tests.engine.iterative import bsp, reference
from tests.engine.proxy import Fault
from tests.engine.superstep_programs import chatter

SUPERSTEPS = 5
STATES: list[list[Any]] = [[] for _ in range(4)]

EXPECTED = reference(chatter, STATES, SUPERSTEPS)[0]


def a_step_that_dies_once(folder: Path, superstep: int, partition: int) -> Any:
    mark = str(folder / "died")

    def step(worker: Any) -> None:
        chatter(worker)
        if (worker.superstep, worker.partition) == (superstep, partition) and not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(9)

    return step


@pytest.mark.parametrize("superstep", range(SUPERSTEPS))
def test_a_runner_lost_in_any_superstep_changes_nothing(
    engine: Engine, tmp_path: Path, superstep: int
) -> None:
    step = a_step_that_dies_once(tmp_path, superstep, partition=superstep % 4)
    outcome = bsp(engine, step, STATES, SUPERSTEPS, workers=2)
    assert outcome.result() == EXPECTED
    assert outcome.lost == 0
    assert outcome.record["lost_runners"] == 1


@pytest.mark.parametrize("action", ["kill", "late-kill"])
@pytest.mark.parametrize("superstep", range(SUPERSTEPS))
def test_a_worker_killed_while_it_commits_any_superstep_changes_nothing(
    engine: Engine, superstep: int, action: Any
) -> None:
    fault = Fault(action, path=f"supersteps/{superstep:07d}/000002", method="PUT", times=1)
    with engine.proxy.disturbed_by(fault):
        outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=4)
    assert outcome.result() == EXPECTED
    assert outcome.lost == 1
    assert fault.hits == 1


@pytest.mark.parametrize(("action", "superstep"), [("kill", 0), ("late-kill", 2), ("kill", SUPERSTEPS - 1)])
def test_the_gathering_worker_killed_while_it_completes_a_superstep_changes_nothing(
    engine: Engine, action: Any, superstep: int
) -> None:
    fault = Fault(action, path=f"supersteps/{superstep:07d}/complete", method="PUT", times=1)
    with engine.proxy.disturbed_by(fault):
        outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=3)
    assert outcome.result() == EXPECTED
    assert (outcome.lost, fault.hits) == (1, 1)
    assert [one["superstep"] for one in outcome.record["history"]] == list(range(SUPERSTEPS))


def test_two_workers_at_once_on_the_same_partitions_change_nothing(engine: Engine) -> None:
    outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=2, launch=lambda workers: [*workers, *workers])
    assert outcome.result() == EXPECTED


def test_answers_lost_on_the_way_change_nothing(engine: Engine) -> None:
    with engine.proxy.disturbed_by(
        Fault("lose", path="supersteps/", method="PUT", times=5, skip=2),
        Fault("refuse", path="supersteps/", method="GET", times=5, skip=3),
    ):
        outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=2)
    assert outcome.result() == EXPECTED


def test_a_mode_that_relaunches_each_superstep_gives_the_same(engine: Engine) -> None:
    outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=2, resident=False)
    assert outcome.result() == EXPECTED
    assert outcome.plan["rounds"] == SUPERSTEPS + 1


def test_a_job_longer_than_its_workers_live_goes_on_from_its_checkpoints(
    engine: Engine, tmp_path: Path
) -> None:
    ran = str(tmp_path / "ran")

    def slow(worker: Any) -> None:
        chatter(worker)
        time.sleep(0.2)
        with open(ran, "a") as file:
            file.write("x")

    outcome = bsp(engine, slow, STATES, 20, workers=2, timeout_s=4.0)
    assert outcome.result() == reference(chatter, STATES, 20)[0]
    assert outcome.plan["rounds"] >= 2
    assert [one["superstep"] for one in outcome.record["history"]] == list(range(20))
    # A checkpoint comes every second, or after five supersteps of four partitions.
    assert len(Path(ran).read_text()) <= 20 * 4 + 5 * 4 * outcome.plan["rounds"], (
        "a round goes on; it starts nothing anew"
    )


def test_when_not_all_workers_can_run_at_once_fewer_hold_more(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLWREN_GATHER_S", "2")
    # Two environments are all that this account has.
    outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=4, launch=lambda workers: workers[:2])
    assert outcome.result() == EXPECTED
    assert (outcome.plan["launched"], outcome.plan["rounds"]) == (2, 2)


def test_a_killed_worker_of_a_long_job_goes_on_from_a_checkpoint(engine: Engine, tmp_path: Path) -> None:
    ran = str(tmp_path / "ran")

    def slow(worker: Any) -> None:
        chatter(worker)
        time.sleep(0.1)
        if worker.partition == 0:
            with open(ran, "a") as file:
                file.write(f"{worker.superstep} ")

    fault = Fault("kill", path="supersteps/0000035/complete", method="PUT", times=1)
    with engine.proxy.disturbed_by(fault):
        outcome = bsp(engine, slow, STATES, 40, workers=2)
    assert outcome.result() == reference(chatter, STATES, 40)[0]
    assert outcome.lost == 1
    steps = [int(one) for one in Path(ran).read_text().split()]
    assert set(steps) == set(range(40))
    assert max(map(steps.count, steps)) <= 2
    assert steps.count(5) == 1, "what lies behind a checkpoint is not done again"


def test_old_supersteps_are_deleted_behind_the_checkpoints(engine: Engine) -> None:
    def slow(worker: Any) -> None:
        time.sleep(0.05)
        worker.state = worker.superstep

    with engine.proxy.disturbed_by() as script:
        outcome = bsp(engine, slow, [None] * 2, 60, workers=2)
    assert outcome.result() == [59, 59]
    deletes = [one for one in script.seen if one.method in ("POST", "DELETE")]
    assert deletes, "checkpoints are taken about every second, and then the past is deleted"


def test_a_cancelled_job_stops_its_workers(engine: Engine) -> None:
    def slow(worker: Any) -> None:
        time.sleep(0.2)

    def cancel(plan: dict[str, Any]) -> None:
        job_id = max(
            (entry.key for entry in engine.store.list("jobs/") if entry.key.endswith("plan.json")),
            key=lambda key: engine.store.get_json(layout.status(key.split("/")[1]))["started_at"],
        ).split("/")[1]
        engine.store.put(layout.cancel(job_id), b"{}")

    began = time.monotonic()
    outcome = bsp(engine, slow, [None] * 2, 1000, workers=2, before_round=cancel)
    assert outcome.status["status"] == "CANCELLED"
    assert time.monotonic() - began < 30


def test_a_worker_that_is_lost_for_good_is_missed_and_fewer_go_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLWREN_GATHER_S", "3")
    fault = Fault("kill", path="supersteps/0000002/000002", method="PUT", times=1)
    with engine.proxy.disturbed_by(fault):
        outcome = bsp(engine, chatter, STATES, SUPERSTEPS, workers=4, lives=1)
    assert outcome.result() == EXPECTED
    assert outcome.lost == 1
    assert outcome.plan["rounds"] == 2


def test_a_job_that_failed_in_a_superstep_is_resumed_there(engine: Engine, tmp_path: Path) -> None:
    mended, ran = str(tmp_path / "mended"), str(tmp_path / "ran")

    def step(worker: Any) -> None:
        if (worker.superstep, worker.partition) == (3, 1) and not os.path.exists(mended):
            raise ConnectionError("the other side is away")
        chatter(worker)
        if worker.partition == 3:
            with open(ran, "a") as file:
                file.write(f"{worker.superstep} ")

    first = bsp(engine, step, STATES, SUPERSTEPS, workers=2)
    assert first.failures == {1: ("ConnectionError", "the other side is away")}
    open(mended, "w").close()
    name = f"{first.job_id}-resumed"
    resumed = engine.execute({"resume": first.job_id}, name)
    assert resumed.result() == EXPECTED
