"""A job that failed or was cancelled goes on from what it has, and runs only what is missing."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bellwren import layout
from bellwren.control.finish import finish
from bellwren.control.prepare import prepare
from tests.engine.harness import Engine, Outcome


def again(engine: Engine, first: Outcome, **running: Any) -> Outcome:
    return engine.execute(
        {"resume": first.job_id}, f"{first.job_id}-resumed-{uuid.uuid4().hex[:4]}", **running
    )


def noting(folder: Path) -> Any:
    def note(x: int) -> None:
        with open(folder / "ran", "a") as file:
            file.write(f"{x}\n")

    return note


def ran(folder: Path) -> Counter[int]:
    found = Counter(map(int, (folder / "ran").read_text().split()))
    (folder / "ran").unlink()
    return found


@pytest.mark.parametrize("form", ["pickle", "jsonl"])
def test_only_the_failed_items_run_again(engine: Engine, tmp_path: Path, form: str) -> None:
    note = noting(tmp_path)

    def item(x: int) -> int:
        note(x)
        if x in (3, 4, 17) and not os.path.exists(tmp_path / "mended"):
            raise ValueError(f"not yet {x}")
        return x * 2

    document, _ = engine._document("map", {"map": item}, range(40), {"workers": 2})
    first = engine.run({**document, "output": {"format": form}})
    assert first.status["status"] == "FAILED"
    assert set(first.failures) == {3, 4, 17}
    assert sum(ran(tmp_path).values()) == 40
    (tmp_path / "mended").touch()
    second = again(engine, first)
    assert second.job_id == first.job_id
    assert second.result() == [x * 2 for x in range(40)]
    assert ran(tmp_path) == Counter([3, 4, 17])
    assert second.status["failures"] == []
    assert not list(engine.store.list(layout.errors(first.job_id)))
    assert not list(engine.store.list(layout.work(first.job_id)))


def test_items_that_fail_again_fail_the_job_again_and_may_be_resumed_again(
    engine: Engine, tmp_path: Path
) -> None:
    def item(x: int) -> int:
        if x == 5 and not os.path.exists(tmp_path / "mended"):
            raise ValueError("never")
        return x

    first = engine.map(item, range(10), workers=1)
    second = again(engine, first)
    assert second.status["status"] == "FAILED"
    assert second.failures[5][0] == "ValueError"
    assert second.status["failed"] == 1
    (tmp_path / "mended").touch()
    assert again(engine, second).result() == list(range(10))


def test_tasks_that_were_never_run_are_run(engine: Engine, tmp_path: Path) -> None:
    note = noting(tmp_path)

    def item(x: int) -> int:
        note(x)
        return x

    first = engine.map(item, range(48), workers=2, launch=lambda workers: [])
    assert first.status["error"]["type"] == "NoProgress"
    assert again(engine, first).result() == list(range(48))
    assert ran(tmp_path) == Counter(range(48))


def test_a_map_reduce_with_failed_records_never_reduces_and_resumes_at_the_map(
    engine: Engine, tmp_path: Path
) -> None:
    note = noting(tmp_path)

    def pairs(x: int) -> list[tuple[int, int]]:
        note(x)
        if x == 11 and not os.path.exists(tmp_path / "mended"):
            raise ValueError("not yet")
        return [(x % 3, x)]

    def total(key: int, values: Any) -> int:
        note(1000 + key)
        return sum(values)

    first = engine.map_reduce(pairs, range(48), total, workers=2)
    assert first.status["status"] == "FAILED"
    assert first.failures[11][0] == "ValueError"
    assert max(ran(tmp_path)) < 1000, "a job that has failed already must not go on"
    (tmp_path / "mended").touch()
    assert again(engine, first).result() == {rest: sum(range(rest, 48, 3)) for rest in range(3)}
    seen = ran(tmp_path)
    assert 11 in seen
    assert sum(count for x, count in seen.items() if x < 1000) <= 2, "the task of the failed record, no other"


def test_a_cancelled_job_is_resumed_with_what_it_had(engine: Engine, tmp_path: Path) -> None:
    note = noting(tmp_path)

    def item(x: int) -> int:
        note(x)
        time.sleep(0.1)
        return x

    def cancel_soon(plan: dict[str, Any]) -> None:
        (job,) = (
            entry.key.split("/")[1]
            for entry in engine.store.list("jobs/")
            if entry.key.endswith("/plan.json")
            and engine.store.get_json(entry.key)["answer"] == plan
            and engine.store.get_json(f"jobs/{entry.key.split('/')[1]}/status.json")["status"] == "RUNNING"
        )
        engine.cancel_after(job, 1.0)

    began = time.monotonic()
    first = engine.map(item, range(200), workers=1, before_round=cancel_soon)
    assert time.monotonic() - began < 12
    assert first.status["status"] == "CANCELLED"
    before = ran(tmp_path)
    assert 0 < len(before) < 200
    second = again(engine, first)
    assert second.result() == list(range(200))
    twice = (before + ran(tmp_path)) - Counter(range(200))
    # The item that was at work when the job was cancelled; a worker that the machine let starve loses a task.
    assert sum(twice.values()) <= 1 + second.lost * -(-200 // second.plan["stages"]["map"]["tasks"]), twice


def test_a_resumed_job_is_taken_over_once(engine: Engine) -> None:
    first = engine.map(lambda x: 1 // x, range(3), workers=1)
    deployment = first.deployment
    one = prepare({"resume": first.job_id}, "arn:one", "one", deployment)
    other = prepare({"resume": first.job_id}, "arn:other", "other", deployment)
    retried = prepare({"resume": first.job_id}, "arn:one", "one", deployment)
    assert [answer["action"] for answer in (one, other, retried)] == ["RUN", "DUPLICATE", "RUN"]
    # The end of the execution from which it was taken over comes late, and changes nothing.
    event = {
        "detail-type": "Step Functions Execution Status Change",
        "detail": {
            "name": first.job_id,
            "executionArn": f"arn:execution:{first.job_id}",
            "status": "TIMED_OUT",
            "input": json.dumps({"spec": {}}),
        },
    }
    assert finish(event, deployment)["status"] == "QUEUED"


@pytest.mark.parametrize("job", ["one that succeeded", "one that there is not"])
def test_what_cannot_be_resumed_is_left_alone(engine: Engine, job: str) -> None:
    job_id = engine.map(abs, [-1], workers=1).job_id if job == "one that succeeded" else "no-such-job"
    before = {entry.key: entry.etag for entry in engine.store.list(layout.job(job_id))}
    answer = prepare({"resume": job_id}, "arn:new", "new", engine.deployment())
    assert answer["action"] == "DUPLICATE"
    assert {entry.key: entry.etag for entry in engine.store.list(layout.job(job_id))} == before
