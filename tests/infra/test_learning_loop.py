"""The path of a record to its training: nothing on it can be lost in silence."""

from __future__ import annotations

import pytest
from reading import feature_flags

from bellwren import layout
from bellwren.learning.collect import LEASE_S
from infra import sizes
from infra.application import build
from infra.learning import HIDDEN_S, TRIES
from infra.packaging import Packer
from infra.settings import Settings

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)


@pytest.fixture
def queues(templates):
    return {
        queue.properties["QueueName"].removeprefix("bellwren-test-"): queue
        for queue in templates.of_type("AWS::SQS::Queue")
    }


def arn(resource):
    return f"<{resource.id}.Arn>"


def test_every_record_that_lands_is_news_and_nothing_else_in_the_bucket_is(templates, queues):
    rule = templates.named("AWS::Events::Rule", "Name", "bellwren-test-record-landed")
    assert rule.properties["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {
            "bucket": {"name": ["bellwren-test-records-123456789012-eu-west-1"]},
            "object": {"key": [{"prefix": "records/"}]},
        },
    }
    (target,) = rule.properties["Targets"]
    assert target["Arn"] == arn(queues["new-records"])
    assert target["DeadLetterConfig"] == {"Arn": arn(queues["untrained-records"])}
    assert not layout.quarantined("records/a/1.json").startswith(layout.RECORDS)


def test_news_that_no_training_takes_ends_with_the_dead_letters_after_the_stated_tries(queues):
    assert queues["new-records"].properties["RedrivePolicy"] == {
        "deadLetterTargetArn": arn(queues["untrained-records"]),
        "maxReceiveCount": TRIES,
    }


def test_a_message_stays_hidden_and_a_lease_holds_for_as_long_as_a_training_may_take(queues):
    assert queues["new-records"].properties["VisibilityTimeout"] == HIDDEN_S
    assert sizes.TRAIN.timeout_s < LEASE_S < HIDDEN_S


def test_the_scheduler_ticks_by_the_setting_and_keeps_a_tick_that_failed(synthesise, queues):
    templates = synthesise(stage="test", worker_memory_mb="512", retraining_schedule="rate(7 minutes)")
    (schedule,) = templates.of_type("AWS::Scheduler::Schedule")
    assert schedule.properties["ScheduleExpression"] == "rate(7 minutes)"
    target = schedule.properties["Target"]
    collect = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-collect")
    assert target["Arn"] == arn(collect)
    assert target["DeadLetterConfig"] == {"Arn": arn(queues["failed-trainings"])}
    assert 0 < target["RetryPolicy"]["MaximumRetryAttempts"] <= 10


def test_training_is_a_container_image_of_this_source_with_pinned_packages(templates, tmp_path):
    train = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-train")
    assert train.properties["PackageType"] == "Image"
    app = cdk.App(context=feature_flags(), outdir=str(tmp_path))
    build(app, Settings.from_context({"worker_memory_mb": "512"}), Packer(with_wheels=False))
    app.synth()
    (dockerfile,) = tmp_path.glob("asset.*/Dockerfile")
    folder = dockerfile.parent
    assert {entry.name for entry in folder.iterdir()} == {
        *("bellwren", "functions", "training"),
        *("Dockerfile", "requirements.txt"),
    }
    text = dockerfile.read_text()
    assert "\nUSER 65534\n" in text
    wanted = [line for line in (folder / "requirements.txt").read_text().splitlines() if line[0] != "#"]
    assert {line.split("==")[0] for line in wanted} >= {"torch", "onnx", "onnxruntime", "scipy", "obstore"}
    assert all("==" in line for line in wanted)


def test_no_queue_of_the_loop_speaks_plain_http_or_forgets_soon(templates, queues):
    of_the_loop = templates.of_type("AWS::SQS::Queue", "prediction")
    assert {queue.properties["QueueName"].removeprefix("bellwren-test-") for queue in of_the_loop} == {
        *("new-records", "untrained-records", "failed-trainings"),
    }
    refusing = {
        policy.properties["Queues"][0]
        for policy in templates.of_type("AWS::SQS::QueuePolicy", "prediction")
        for statement in policy.properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert refusing == {f"<{queue.id}>" for queue in of_the_loop}
    for queue in of_the_loop:
        assert queue.properties["SqsManagedSseEnabled"] is True
        assert queue.properties["MessageRetentionPeriod"] == 14 * 86400
