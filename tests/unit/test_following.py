"""A job is followed to its end, also where storage stays silent about it: nobody waits for ever."""

from __future__ import annotations

from typing import Any

import pytest

from bellwren import following
from bellwren.following import DOUBT_S, GRACE_S, Following


class Cloud:
    """A cloud whose answers are set by the test, and that counts how often it is asked."""

    def __init__(self) -> None:
        self.document: dict[str, Any] | None = None
        self.found: dict[str, Any] | None = {"status": "RUNNING", "executionArn": "arn:the-execution"}
        self.reads = 0
        self.asked = 0
        self.jobs_store = self
        self.executions = self

    def find_json(self, key: str) -> Any:
        assert key == "jobs/j/status.json"
        self.reads += 1
        return self.document

    def find(self, job_id: str) -> Any:
        self.asked += 1
        return self.found


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(following, "time", made)
    return made


def follow(cloud: Any) -> Following:
    return Following(cloud, "j", "a name")


def test_before_its_first_state_a_job_is_queued_under_its_name(clock: Clock) -> None:
    status = follow(Cloud()).status()
    assert (status["status"], status["name"]) == ("QUEUED", "a name")


def test_a_status_that_changes_is_not_doubted(clock: Clock) -> None:
    cloud = Cloud()
    job = follow(cloud)
    for done in range(10):
        clock.now += DOUBT_S - 1
        cloud.document = {"status": "RUNNING", "progress": {"done": done}}
        assert job.status() == cloud.document
    assert cloud.asked == 0


def test_a_silent_job_whose_execution_runs_is_waited_for_and_asked_about_now_and_then(clock: Clock) -> None:
    cloud = Cloud()
    job = follow(cloud)
    for _ in range(100):
        clock.now += 1
        assert job.status()["status"] == "QUEUED"
    assert cloud.asked == 100 // DOUBT_S


@pytest.mark.parametrize(
    ("ended", "status"), [("FAILED", "FAILED"), ("TIMED_OUT", "FAILED"), ("ABORTED", "CANCELLED")]
)
def test_an_execution_that_ended_and_left_no_status_ends_the_job(
    clock: Clock, ended: str, status: str
) -> None:
    cloud = Cloud()
    cloud.found = {"status": ended, "error": "E", "cause": "it broke", "executionArn": "arn:the-execution"}
    job = follow(cloud)
    began = clock.now
    while job.status()["status"] == "QUEUED":
        clock.now += 1
        assert clock.now - began < 2 * DOUBT_S + GRACE_S
    found = job.status()
    assert found["status"] == status
    if status == "FAILED":
        assert "E: it broke" in found["error"]["message"]
        assert "arn:the-execution" in found["error"]["message"]


def test_a_final_status_that_comes_late_by_an_event_is_taken(clock: Clock) -> None:
    cloud = Cloud()
    cloud.found = {"status": "FAILED", "executionArn": "arn"}
    job = follow(cloud)
    clock.now += DOUBT_S
    assert job.status()["status"] == "QUEUED"
    cloud.document = {"status": "FAILED", "error": {"type": "TaskError", "message": "told"}}
    assert job.status() == cloud.document


def test_what_nothing_can_change_is_not_asked_for_again_and_a_resumed_job_is(clock: Clock) -> None:
    cloud = Cloud()
    job = follow(cloud)
    cloud.document = {"status": "FAILED"}
    assert job.status()["status"] == "FAILED"
    cloud.document = {"status": "RUNNING"}
    assert job.status()["status"] == "RUNNING"
    cloud.document = {"status": "SUCCEEDED"}
    assert job.status()["status"] == "SUCCEEDED"
    reads = cloud.reads
    assert job.status()["status"] == "SUCCEEDED"
    assert cloud.reads == reads
