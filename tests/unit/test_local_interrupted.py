from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bellwren.local.interrupted import end_interrupted_jobs


class NoSuchKey(Exception):
    pass


class Bucket:
    """As much of S3 as is asked for, two jobs to a page."""

    class exceptions:  # noqa: N801 - boto3's name
        NoSuchKey = NoSuchKey

    def __init__(self, statuses: dict[str, str | None]) -> None:
        self.statuses = statuses

    def get_paginator(self, _: str) -> Bucket:
        return self

    def paginate(self, **_: str) -> list[dict[str, Any]]:
        found = [{"Prefix": f"jobs/{job_id}/"} for job_id in self.statuses]
        return [{"CommonPrefixes": found[n : n + 2]} for n in range(0, len(found), 2)] or [{}]

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803 - boto3's names
        status = self.statuses[Key.removeprefix("jobs/").removesuffix("/status.json")]
        if status is None:
            raise NoSuchKey
        return {"Body": io.BytesIO(json.dumps({"status": status}).encode())}


class Functions:
    def __init__(self) -> None:
        self.invoked: list[tuple[str, dict[str, Any]]] = []

    def invoke(self, *, FunctionName: str, Payload: str) -> None:  # noqa: N803 - boto3's names
        self.invoked.append((FunctionName, json.loads(Payload)))


class FakeCloud:
    def __init__(self, statuses: dict[str, str | None], published: dict[str, Any] | None) -> None:
        self.published = published
        self.services = {"s3": Bucket(statuses), "lambda": Functions()}

    def client(self, service: str) -> Any:
        return self.services[service]

    def deployment(self, stage: str) -> dict[str, Any] | None:
        return self.published


def ended(
    statuses: dict[str, str | None], published: dict[str, Any] | None
) -> list[tuple[str, dict[str, Any]]]:
    cloud = FakeCloud(statuses, published)
    job_ids = end_interrupted_jobs(cloud, "dev")  # type: ignore[arg-type]
    invoked: list[tuple[str, dict[str, Any]]] = cloud.client("lambda").invoked
    assert [payload["job_id"] for _, payload in invoked] == job_ids
    return invoked


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING", None])
def test_a_job_without_a_final_status_is_ended_with_the_reason(status: str | None) -> None:
    [(function, payload)] = ended({"a": "SUCCEEDED", "b": "FAILED", "c": status}, {"jobs_bucket": "jobs"})
    assert function == "bellwren-dev-finish"
    assert payload["job_id"] == "c"
    assert payload["error"]["Error"] == "LocalCloudStopped"
    assert "submit it again" in payload["error"]["Cause"]


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED", "REJECTED"])
def test_a_final_status_is_left_alone(status: str) -> None:
    assert ended({"a": status}, {"jobs_bucket": "jobs"}) == []


def test_a_stage_without_jobs_or_without_a_deployment_needs_nothing() -> None:
    assert ended({}, {"jobs_bucket": "jobs"}) == []
    assert ended({"a": "RUNNING"}, None) == []
