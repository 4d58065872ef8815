"""Reported faults of comparable systems, group E: the service below, the document, and the emulator in its place."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

import bellwren
from bellwren import Cloud
from bellwren.options import Options
from bellwren.submission import make_document
from tests.e2e import jobs


def test_e02_a_job_of_one_name_started_again_runs_once_whatever_the_service_answers(
    deployment: Any, cloud: Cloud
) -> None:
    """With the same input AWS answers with the execution that runs, with another it refuses; emulators differ."""
    name = f"named-{uuid.uuid4().hex[:8]}"
    document = {"bellwren": 1, "algorithm": "wordcount", "items": ["a b a"]}
    first = jobs.start(deployment, {"spec": document}, name)
    for again in (document, {**document, "items": ["c"]}):
        try:
            assert jobs.start(deployment, {"spec": again}, name) == first
            assert again == document
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ExecutionAlreadyExists"  # noqa: PT017
    assert cloud.job(name).result() == {"a": 2, "b": 1}


LOOP = {
    "StartAt": "Round",
    "States": {
        "Round": {
            "Type": "Map",
            "Label": "Round",
            "ItemsPath": "$.partitions",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                "StartAt": "Step",
                "States": {"Step": {"Type": "Pass", "End": True}},
            },
            "ResultPath": None,
            "Next": "Count",
        },
        "Count": {
            "Type": "Pass",
            "Parameters": {
                "partitions.$": "$.partitions",
                "rounds.$": "States.MathAdd($.rounds, 1)",
            },
            "Next": "Again",
        },
        "Again": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.rounds", "NumericLessThan": 5, "Next": "Round"}],
            "Default": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}


def test_e04_a_distributed_map_may_be_entered_again_and_again_in_one_execution(deployment: Any) -> None:
    """What rounds and supersteps rest on; it guards against a version of the emulator that hangs there."""
    states = deployment.client("stepfunctions")
    role = states.describe_state_machine(stateMachineArn=deployment.published["state_machine_arn"])["roleArn"]
    machine = states.create_state_machine(
        name=f"loop-{uuid.uuid4().hex[:8]}", definition=json.dumps(LOOP), roleArn=role
    )["stateMachineArn"]
    try:
        execution = states.start_execution(
            stateMachineArn=machine, input='{"partitions": [0, 0, 0], "rounds": 0}'
        )["executionArn"]
        until = time.monotonic() + 60
        while (found := states.describe_execution(executionArn=execution))["status"] == "RUNNING":
            assert time.monotonic() < until, "the loop hangs"
            time.sleep(0.2)
        assert found["status"] == "SUCCEEDED", found
        assert json.loads(found["output"])["rounds"] == 5
    finally:
        states.delete_state_machine(stateMachineArn=machine)


def test_e11_items_that_are_not_as_many_as_the_document_says_are_refused(cloud: Cloud) -> None:
    document = make_document("map", {"map": abs}, [-1, -2, -3], Options(), cloud)
    document["items_payload"]["count"] = 4
    with pytest.raises(bellwren.SpecError, match=r"items_payload\.count: found 4; allowed: 3"):
        cloud.submit(document, progress=False).result()
    document["items_payload"]["count"] = 3
    assert cloud.submit(document, progress=False).result() == [1, 2, 3]
