"""What only the whole of a deployment can show: history, cancellation, resuming, permissions, lost workers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud, layout
from tests.e2e import jobs
from tests.e2e.test_jobs import cloud, unique  # noqa: F401  the fixture

MOST_EVENTS = 1000


def test_twelve_thousand_items_leave_a_short_history(deployment: Any, cloud: Cloud) -> None:  # noqa: F811
    job = cloud.map(lambda x: x % 7, range(12_000), workers=3, progress=False)
    assert job.result() == [x % 7 for x in range(12_000)]
    assert jobs.events(deployment, job.id) < MOST_EVENTS


def test_a_lost_worker_is_started_again_and_its_item_found(cloud: Cloud) -> None:  # noqa: F811
    def item(x: int) -> int:
        import os
        import signal
        import time

        if x == 5:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(5)
        return x

    job = cloud.map(item, range(12), workers=1, retries=0, tolerate=0.1, progress=False)
    results = job.result()
    assert [one for x, one in enumerate(results) if x != 5] == [x for x in range(12) if x != 5]
    (failure,) = job.failures()
    assert (failure.index, failure.type) == (5, "WorkerDied")
    assert "whole environment" in failure.message


@pytest.fixture
def endless(cloud: Cloud) -> Iterator[bellwren.Job]:  # noqa: F811
    def item(x: int) -> int:
        import time

        time.sleep(300)
        return x

    job = cloud.map(item, range(4), workers=2, progress=False)
    yield job
    job.cancel()


def test_a_cancelled_job_ends_within_ten_seconds_and_leaves_nothing_running(
    deployment: Any,
    cloud: Cloud,  # noqa: F811
    endless: bellwren.Job,
) -> None:
    until = time.monotonic() + 60
    while not cloud.jobs_store.find_json(f"jobs/{endless.id}/plan.json") and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    endless.cancel()
    assert endless.wait(10)
    assert endless.status()["status"] == "CANCELLED"
    until = time.monotonic() + 10  # a worker that was just starting looks first, and ends
    while time.monotonic() < until and _runners(deployment):
        time.sleep(0.2)
    assert not _runners(deployment)
    with pytest.raises(bellwren.JobCancelled):
        endless.result()
    for bucket in (cloud.deployment.jobs_bucket, cloud.deployment.data_bucket):
        uploads = deployment.client("s3").list_multipart_uploads(Bucket=bucket)
        assert not uploads.get("Uploads")
    left = [entry.key for entry in cloud.jobs_store.list(layout.work(endless.id))]
    assert not [key for key in left if "/claims/" in key or key.endswith(("cancel.json", "fatal.json"))]


def _runners(deployment: Any) -> set[int]:
    """Processes in whose folder a runner of this deployment works."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                folder = os.readlink(f"/proc/{name}/cwd")
            except OSError:
                continue
            if "/bellwren-work-" in folder and str(deployment.cloud.directory) in folder:
                found.add(int(name))
    return found


def test_a_failed_job_is_resumed(cloud: Cloud, tmp_path: Path) -> None:  # noqa: F811
    mark = str(tmp_path / "mended")

    def item(x: int) -> int:
        import os

        if x == 3 and not os.path.exists(mark):
            raise ValueError("not yet")
        return x * x

    job = cloud.map(item, range(8), workers=2, progress=False)
    with pytest.raises(bellwren.TaskError, match="not yet"):
        job.result()
    until = time.monotonic() + 60
    while (execution := cloud.executions.find(job.id) or {}).get(
        "status"
    ) == "RUNNING" and time.monotonic() < until:
        time.sleep(0.2)
    assert (
        execution["status"] == "FAILED"
    )  # as Bellwren.JobFailed; the emulator does not keep names of errors
    assert layout.status(job.id) in execution["cause"]
    with pytest.raises(bellwren.TaskError, match="not yet"):
        job.resume().result()
    Path(mark).touch()
    assert job.resume().result() == [x * x for x in range(8)]
    with pytest.raises(bellwren.BellwrenError, match="is SUCCEEDED; only a job that is FAILED or CANCELLED"):
        job.resume()


@pytest.mark.parametrize("key", ["specs/again.json", "jobs/x/status.json", "code/0123"])
def test_a_job_cannot_start_another_nor_write_what_is_not_its_own(cloud: Cloud, key: str) -> None:  # noqa: F811
    bucket = cloud.deployment.jobs_bucket

    def item(_: int) -> str:
        import obstore
        from obstore.store import S3Store

        try:
            obstore.put(S3Store(bucket, client_options={"allow_http": True}), key, b"{}")
        except Exception as error:  # noqa: BLE001  whichever it is, its name is told
            return type(error).__name__
        return "written"

    (answer,) = cloud.map(item, [1], workers=1, progress=False).result()
    assert answer in ("PermissionDeniedError", "UnauthenticatedError", "GenericError")
    assert cloud.jobs_store.head(key) is None


def test_a_job_over_its_budget_says_so(cloud: Cloud) -> None:  # noqa: F811
    job = cloud.map(lambda x: x, range(4), workers=1, budget_usd=1e-9, progress=False)
    with pytest.raises(bellwren.JobFailed, match="BudgetExceeded"):
        job.result()
    assert job.status()["error"]["type"] == "BudgetExceeded"


def test_one_item_is_back_soon(cloud: Cloud) -> None:  # noqa: F811
    walls = []
    for _ in range(4):
        began = time.monotonic()
        assert cloud.map(abs, [-1], workers=1, progress=False).result() == [1]
        walls.append(time.monotonic() - began)
    print("one item, seconds:", walls)
    # 1.0 s on a quiet machine; the benchmarks measure it. Here only that nothing waits for a timer.
    assert min(walls) < 4.0
