"""The deployed system after its cloud was stopped and started again."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

import bellwren
from bellwren.local import start, stop
from tests.e2e.conftest import REUSED


@pytest.mark.skipif(bool(REUSED), reason="would stop a cloud that others use (BELLWREN_TEST_CLOUD)")
def test_a_job_that_ran_when_the_cloud_stopped_is_ended_and_new_jobs_run(
    deployment: Any, cloud_endpoint: str
) -> None:
    def sleepy(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    interrupted = bellwren.connect().map(sleepy, [120.0], workers=1, memory_mb=512, progress=False)
    until = time.monotonic() + 60
    while interrupted.status()["status"] != "RUNNING" and time.monotonic() < until:
        time.sleep(0.1)

    place = deployment.cloud.directory
    assert stop(place)
    start(directory=place, owner_pid=os.getpid())

    status = interrupted.status()
    assert status["status"] == "FAILED"
    assert status["error"]["type"] == "LocalCloudStopped"
    assert bellwren.connect().map(sleepy, [0.0], workers=1, memory_mb=512, progress=False).result(60) == [0.0]
