"""A second stage of other settings beside the first, a deployment over it while a job runs there, and its removal.

The emulator takes a KMS key and encrypts with none, so of the key it is seen that everything deploys with it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import bellwren
from bellwren import layout
from bellwren.local import LocalCloud, start
from tests.e2e.conftest import Deployment

STAGE = "second"
REMOVAL = ("observability", "compute", "prediction", "storage")
"""The order in which `cdk destroy` removes them; tests/infra/test_templates.py holds the app to it."""


def test_a_job_outlives_a_deployment_its_data_the_removal_and_the_other_stage_does_not_notice(
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

    buckets = {f"s3 {cloud.deployment.jobs_bucket.replace('-jobs-', f'-{role}-')}" for role in BUCKETS}
    assert len(resources_of(deployment, STAGE)) > 40
    remove(deployment, STAGE)
    assert resources_of(deployment, STAGE) == buckets, "nothing is left but what holds data"
    results = deployment.client("s3").list_objects_v2(
        Bucket=cloud.deployment.jobs_bucket, Prefix=layout.results(job.id)
    )
    assert results["KeyCount"] > 0
    assert deployment.client("s3").list_objects_v2(Bucket=cloud.deployment.records_bucket)["KeyCount"] > 0
    assert functions_of(deployment) == before
    assert first.map(abs, [-1]).result(300) == [1]


def remove(deployment: Deployment, stage: str) -> None:
    """Delete the stacks one after the other, as `cdk destroy` does."""
    stacks = deployment.client("cloudformation")
    for what in REMOVAL:
        name = f"bellwren-{stage}-{what}"
        stacks.delete_stack(StackName=name)
        stacks.get_waiter("stack_delete_complete").wait(
            StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 300}
        )


BUCKETS = ("jobs", "data", "records", "models")
LISTED = {
    "cloudformation": ("list_stacks", "StackSummaries", "StackName"),
    "cloudwatch": ("describe_alarms", "MetricAlarms", "AlarmName"),
    "events": ("list_rules", "Rules", "Name"),
    "iam": ("list_roles", "Roles", "RoleName"),
    "lambda": ("list_functions", "Functions", "FunctionName"),
    "logs": ("describe_log_groups", "logGroups", "logGroupName"),
    "s3": ("list_buckets", "Buckets", "Name"),
    "scheduler": ("list_schedules", "Schedules", "Name"),
    "sns": ("list_topics", "Topics", "TopicArn"),
    "sqs": ("list_queues", "QueueUrls", ""),
    "ssm": ("describe_parameters", "Parameters", "Name"),
    "stepfunctions": ("list_state_machines", "stateMachines", "name"),
}
"""For each service: how to ask for all of its resources, and where their names stand."""


def resources_of(deployment: Deployment, stage: str) -> set[str]:
    """The service and name of everything that there is of a stage."""
    found = set()
    for service, (call, listed, name) in LISTED.items():
        client = deployment.client(service)
        pages = (
            client.get_paginator(call).paginate() if client.can_paginate(call) else [getattr(client, call)()]
        )
        for one in (one for page in pages for one in page.get(listed, [])):
            text = one[name] if name else one
            gone = name == "StackName" and one["StackStatus"] == "DELETE_COMPLETE"
            if not gone and (f"bellwren-{stage}-" in text or text == layout.deployment_parameter(stage)):
                found.add(f"{service} {text}")
    return found


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
