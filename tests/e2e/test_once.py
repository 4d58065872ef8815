"""Nothing that happens twice counts twice: events, starts, workers."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

import bellwren
from bellwren import Cloud
from tests.e2e import jobs
from tests.e2e.test_jobs import cloud, unique  # noqa: F401  the fixture

SLOW = """
import time

def slow(x):
    time.sleep(0.05)
    return [(x % 3, x)]

def total(key, values):
    return sum(values)
"""


def snapshot(cloud: Cloud, job_id: str) -> dict[str, str]:  # noqa: F811
    return {entry.key: entry.etag for entry in cloud.jobs_store.list(f"jobs/{job_id}/")}


def test_an_event_delivered_twice_runs_its_job_once(deployment: Any, cloud: Cloud) -> None:  # noqa: F811
    key = f"specs/{unique('twice')}.json"
    jobs.drop(deployment, key, b'{"bellwren": 1, "algorithm": "wordcount", "items": ["a b a"]}')
    job_id = jobs.became(cloud, key)
    jobs.ended(cloud, job_id)
    time.sleep(1)
    before = snapshot(cloud, job_id)
    states = deployment.client("stepfunctions")
    first = next(
        one
        for one in states.list_executions(stateMachineArn=deployment.published["state_machine_arn"])[
            "executions"
        ]
        if key in states.describe_execution(executionArn=one["executionArn"])["input"]
    )
    event = json.loads(states.describe_execution(executionArn=first["executionArn"])["input"])
    again = jobs.start(deployment, event, f"redelivered-{uuid.uuid4().hex}")
    until = time.monotonic() + 60
    while states.describe_execution(executionArn=again)["status"] == "RUNNING" and time.monotonic() < until:
        time.sleep(0.5)
    answer = states.describe_execution(executionArn=again)
    assert answer["status"] == "SUCCEEDED"
    assert json.loads(answer["output"])["action"] == "DUPLICATE"
    assert snapshot(cloud, job_id) == before


def test_the_same_document_dropped_again_is_a_job_of_its_own(deployment: Any, cloud: Cloud) -> None:  # noqa: F811
    key = f"specs/{unique('again')}.json"
    body = b'{"bellwren": 1, "algorithm": "wordcount", "items": ["a"]}'
    jobs.drop(deployment, key, body)
    first = jobs.became(cloud, key)
    jobs.ended(cloud, first)
    jobs.drop(deployment, key, body)
    second = jobs.became(cloud, key, not_=first)
    assert jobs.ended(cloud, second)["status"] == "SUCCEEDED"


def test_a_job_id_started_twice_runs_once(deployment: Any, cloud: Cloud) -> None:  # noqa: F811
    name = unique("same")
    document = {"bellwren": 1, "algorithm": "wordcount", "items": ["a b a"]}
    jobs.start(deployment, {"spec": document}, name)
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        jobs.start(deployment, {"spec": {**document, "items": ["c"]}}, name)
    assert jobs.ended(cloud, name)["status"] == "SUCCEEDED"
    assert cloud.job(name).result() == {"a": 2, "b": 1}


@pytest.mark.parametrize("moment", ["while the job runs", "after its end"])
def test_a_worker_started_again_changes_nothing(deployment: Any, cloud: Cloud, moment: str) -> None:  # noqa: F811
    code = jobs.upload_code(cloud, mine=SLOW)
    document = {
        "bellwren": 1,
        "kind": "map_reduce",
        "code": code,
        "map": "mine:slow",
        "reduce": "mine:total",
        "items": list(range(60)),
        "workers": 2,
    }
    job = cloud.submit(document, progress=False)
    invoke = deployment.client("lambda").invoke
    memory_mb = str(max(deployment.published["worker_functions"], key=int))
    if moment == "after its end":
        job.wait()
    else:
        while not cloud.jobs_store.find_json(f"jobs/{job.id}/plan.json"):
            time.sleep(0.02)
    for worker in (0, 1):
        event = {"job_id": job.id, "stage": "map", "round": 0, "worker": worker}
        answer = invoke(
            FunctionName=deployment.published["worker_functions"][memory_mb],
            Payload=json.dumps(event).encode(),
        )
        assert "FunctionError" not in answer, answer["Payload"].read()
    assert job.result() == {rest: sum(range(rest, 60, 3)) for rest in range(3)}


def test_a_client_attaches_to_a_job_of_another_process(cloud: Cloud) -> None:  # noqa: F811
    job = cloud.submit({"bellwren": 1, "algorithm": "wordcount", "items": ["a"]}, progress=False)
    other = bellwren.connect().job(job.id)
    assert other.result() == job.result() == {"a": 1}
