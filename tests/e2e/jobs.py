"""Ways of starting jobs without Bellwren's client, as any AWS client would, for the tests of both doors."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from typing import Any

from bellwren import Cloud, Job

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED", "REJECTED")
PATIENCE_S = 120


def start(deployment: Any, document: dict[str, Any], name: str) -> str:
    """StartExecution with a document of one's own; returns the execution's ARN."""
    answer = deployment.client("stepfunctions").start_execution(
        stateMachineArn=deployment.published["state_machine_arn"], name=name, input=json.dumps(document)
    )
    return str(answer["executionArn"])


def events(deployment: Any, name: str) -> int:
    """How many events the history of the execution has."""
    states = deployment.client("stepfunctions")
    machine = deployment.published["state_machine_arn"]
    arn = machine.replace(":stateMachine:", ":execution:") + f":{name}"
    pages = states.get_paginator("get_execution_history").paginate(executionArn=arn)
    return sum(len(page["events"]) for page in pages)


def drop(deployment: Any, key: str, body: bytes) -> None:
    """Put a document where S3's event starts a job."""
    bucket = deployment.published["jobs_bucket"]
    deployment.client("s3").put_object(Bucket=bucket, Key=key, Body=body)


def ended(cloud: Cloud, job_id: str) -> dict[str, Any]:
    """The final status of a job, read from S3 as anyone can."""
    until = time.monotonic() + PATIENCE_S
    status: dict[str, Any] | None = None
    while time.monotonic() < until:
        status = cloud.jobs_store.find_json(f"jobs/{job_id}/status.json")
        if status and status["status"] in FINAL:
            return status
        time.sleep(0.1)
    raise AssertionError(f"job {job_id} has not ended after {PATIENCE_S} s; its status is {status}")


def became(cloud: Cloud, key: str, not_: str = "") -> str:
    """The id of the job that a dropped document became."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        pointer = cloud.jobs_store.find_json("submitted/" + key.removeprefix("specs/"))
        if pointer and pointer["job_id"] != not_:
            return str(pointer["job_id"])
        time.sleep(0.1)
    raise AssertionError(f"{key} has started no job after {PATIENCE_S} s")


def upload_code(cloud: Cloud, **modules: str) -> dict[str, str]:
    """Upload a zip of modules, as a user without Python would; returns the document's ``code``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, source in modules.items():
            archive.writestr(f"{name}.py", source)
    data = buffer.getvalue()
    sha256 = hashlib.sha256(data).hexdigest()
    cloud.jobs_store.put(f"code/{sha256}", data)
    return {"uri": f"s3://{cloud.deployment.jobs_bucket}/code/{sha256}", "sha256": sha256}


def lines_of(job: Job) -> list[Any]:
    """Every line of a jsonl result, parsed by a strict reader, in order of the parts."""
    store = job._store
    keys = [entry.key for entry in store.list(f"jobs/{job.id}/results/")]
    return [json.loads(line) for key in keys for line in store.get(key).decode().splitlines()]
