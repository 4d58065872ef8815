"""The path of a record to its training: nothing on it can be lost in silence."""

from __future__ import annotations

import pytest

from bellwren import layout
from bellwren.learning.state import LEASE_S, RENEW_S, START_S
from infra import sizes
from infra.learning import HIDDEN_S, TRIES


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


def test_a_message_stays_hidden_for_as_long_as_a_training_may_take_and_a_lease_is_short(queues):
    assert queues["new-records"].properties["VisibilityTimeout"] == HIDDEN_S
    assert START_S + sizes.TRAIN.timeout_s <= HIDDEN_S
    assert 3 * RENEW_S < LEASE_S < START_S, "two renewals may fail, and a training is not taken for dead"


def test_the_scheduler_ticks_by_the_setting_and_keeps_a_tick_that_failed(templates, queues):
    (schedule,) = templates.of_type("AWS::Scheduler::Schedule")
    assert schedule.properties["ScheduleExpression"] == "rate(7 minutes)"
    target = schedule.properties["Target"]
    collect = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-collect")
    assert target["Arn"] == arn(collect)
    assert target["DeadLetterConfig"] == {"Arn": arn(queues["failed-trainings"])}
    assert 0 < target["RetryPolicy"]["MaximumRetryAttempts"] <= 10


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
