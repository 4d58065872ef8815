"""The events that start and end a job, and what is left of one that cannot be delivered."""

from __future__ import annotations

import fnmatch

import pytest


@pytest.fixture
def rules(templates):
    return {
        rule.properties["Name"].removeprefix("bellwren-test-"): rule
        for rule in templates.of_type("AWS::Events::Rule", "compute")
    }


@pytest.fixture
def queues(templates):
    return {f"<{queue.id}.Arn>": queue for queue in templates.of_type("AWS::SQS::Queue", "compute")}


@pytest.fixture
def machine(templates):
    (machine,) = templates.of_type("AWS::StepFunctions::StateMachine")
    return machine


def test_there_are_two_events_and_both_are_listened_to(rules):
    assert set(rules) == {"spec-dropped", "job-ended"}
    assert {rule.properties["State"] for rule in rules.values()} == {"ENABLED"}


def test_a_document_dropped_into_specs_starts_the_state_machine_with_the_event_as_input(rules, machine):
    rule = rules["spec-dropped"].properties
    assert rule["EventPattern"]["source"] == ["aws.s3"]
    assert rule["EventPattern"]["detail-type"] == ["Object Created"]
    assert rule["EventPattern"]["detail"]["bucket"]["name"] == ["bellwren-test-jobs-123456789012-eu-west-1"]
    (target,) = rule["Targets"]
    assert target["Arn"] == f"<{machine.id}>"
    assert not {"Input", "InputPath", "InputTransformer"} & set(target)


@pytest.mark.parametrize(
    ("key", "starts"),
    [
        ("specs/books.json", True),
        ("specs/my books.json", True),
        ("specs/a+b%20c.json", True),
        ("specs/Bücher 本.json", True),
        ("specs/team/books.json", True),
        ("specs/books.txt", False),
        ("jobs/1/spec.json", False),
        ("submitted/books.json", False),
        ("work/1/specs/x.json", False),
    ],
)
def test_any_name_a_user_may_choose_starts_a_job_and_nothing_that_we_write_does(rules, key, starts):
    (pattern,) = rules["spec-dropped"].properties["EventPattern"]["detail"]["object"]["key"]
    assert set(pattern) == {"wildcard"}
    assert fnmatch.fnmatchcase(key, pattern["wildcard"]) is starts


def test_an_execution_that_ended_badly_is_seen_to_by_finish(rules, machine, templates):
    rule = rules["job-ended"].properties
    assert rule["EventPattern"]["source"] == ["aws.states"]
    assert rule["EventPattern"]["detail-type"] == ["Step Functions Execution Status Change"]
    detail = rule["EventPattern"]["detail"]
    # The ARN of the machine itself: the children of a map have another and are not jobs.
    assert detail["stateMachineArn"] == [f"<{machine.id}>"]
    assert set(detail["status"]) == {"ABORTED", "FAILED", "TIMED_OUT"}
    finish = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-finish")
    (target,) = rule["Targets"]
    assert target["Arn"] == f"<{finish.id}.Arn>"
    (permission,) = templates.of_type("AWS::Lambda::Permission")
    assert permission.properties["FunctionName"] == f"<{finish.id}.Arn>"
    assert permission.properties["Principal"] == "events.amazonaws.com"
    assert permission.properties["SourceArn"] == f"<{rules['job-ended'].id}.Arn>"


def test_what_cannot_be_delivered_is_tried_for_a_day_and_then_kept(rules, queues):
    kept = {}
    for name, rule in rules.items():
        (target,) = rule.properties["Targets"]
        assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185}
        kept[name] = queues[target["DeadLetterConfig"]["Arn"]].properties["QueueName"]
    assert kept == {
        "spec-dropped": "bellwren-test-undelivered-specs",
        "job-ended": "bellwren-test-unfinished-jobs",
    }


def test_only_the_rule_itself_may_send_to_its_dead_letter_queue(rules, queues, templates):
    senders = {}
    for policy in templates.of_type("AWS::SQS::QueuePolicy", "compute"):
        for statement in policy.properties["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Allow":
                assert statement["Action"] == "sqs:SendMessage"
                assert statement["Principal"] == {"Service": "events.amazonaws.com"}
                senders[statement["Resource"]] = statement["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert set(senders.values()) == {f"<{rule.id}.Arn>" for rule in rules.values()}
    assert set(senders) == set(queues)


def test_a_dead_letter_is_kept_for_as_long_as_there_is_encrypted_and_refuses_plain_http(queues, templates):
    for queue in queues.values():
        assert queue.properties["MessageRetentionPeriod"] == 14 * 24 * 60 * 60
        assert queue.properties["SqsManagedSseEnabled"] is True
    refusing = {
        statement["Resource"]
        for policy in templates.of_type("AWS::SQS::QueuePolicy", "compute")
        for statement in policy.properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert refusing == set(queues)
