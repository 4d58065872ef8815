"""A second stage of other settings beside the first, and a deployment over it while a job runs there.

The emulator takes a KMS key and encrypts with none, so of the key it is seen that everything deploys with it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import bellwren
from bellwren.local import LocalCloud, start
from tests.e2e.conftest import Deployment

STAGE = "second"


def test_a_job_outlives_the_deployment_of_a_change_and_the_other_stage_does_not_notice(
    deployment: Deployment, local_cloud: LocalCloud, cloud_endpoint: str, tmp_path: Path
) -> None:
    books = "books-of-others"
    deployment.client("s3").create_bucket(Bucket=books)
    deployment.client("s3").put_object(Bucket=books, Key="in/a.txt", Body=b"a b a\n")
    settings = {
        "worker_memory_mb": "512,1024",
        "input_buckets": books,
        "kms_key_arn": deployment.client("kms").create_key()["KeyMetadata"]["Arn"],
        "max_workers": "4",
    }

    def deploy(**changed: str) -> bellwren.Cloud:
        start(directory=local_cloud.directory, stage=STAGE, settings={**settings, **changed})
        start(
            directory=local_cloud.directory, stage=deployment.stage
        )  # nothing changed; the cloud's stage is this
        return bellwren.connect(stage=STAGE)

    first = bellwren.connect(stage=deployment.stage)
    before = functions_of(deployment)
    cloud = deploy()
    assert cloud.deployment.jobs_bucket != first.deployment.jobs_bucket
    words = {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": f"s3://{books}/in/"}}
    assert cloud.submit(words).result(300) == {"a": 2, "b": 1}

    going, go = str(tmp_path / "going"), str(tmp_path / "go")

    def item(x: int) -> int:
        open(going, "a").close()
        while not os.path.exists(go):
            time.sleep(0.2)
        return x * x

    job = cloud.map(item, range(6), workers=2, memory_mb=512)
    until = time.monotonic() + 120
    while not os.path.exists(going):
        assert time.monotonic() < until, job.status()
        time.sleep(0.2)
    changed = deploy(max_workers="3")
    assert changed.deployment.max_workers == 3
    open(go, "w").close()
    assert job.result(300) == [x * x for x in range(6)]
    assert job.record is not None
    assert functions_of(deployment) == before, "the first stage is as it was"


def functions_of(deployment: Deployment) -> dict[str, Any]:
    """Code and settings of the first stage's functions."""
    pages = deployment.client("lambda").get_paginator("list_functions").paginate()
    return {
        function["FunctionName"]: (
            function["CodeSha256"],
            function["Environment"]["Variables"],
            function["Role"],
        )
        for page in pages
        for function in page["Functions"]
        if function["FunctionName"].startswith(f"bellwren-{deployment.stage}-")
    }
