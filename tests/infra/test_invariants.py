"""What holds for every resource of its kind, in every deployment, however it was set: a new one is held to it too."""

from __future__ import annotations

import json

import pytest
from reading import feature_flags

ASYNCHRONOUS = ("finish", "collect", "train")
"""Functions that are sent events; all others have a caller that waits."""
DAY_S = 24 * 60 * 60


@pytest.fixture(scope="module", params=["smallest", "full", "key"])
def any_templates(request, variant):
    return variant(request.param)


def of_type(templates, type_):
    found = templates.of_type(type_)
    assert found, f"a test of no {type_} would tell nothing"
    return [one.properties for one in found]


def test_every_function_says_its_size_is_traced_and_logs_json_into_a_group_of_its_own(any_templates):
    groups = []
    for function in of_type(any_templates, "AWS::Lambda::Function"):
        assert {"MemorySize", "Timeout", "Architectures", "FunctionName"} <= set(function)
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        groups.append(function["LoggingConfig"]["LogGroup"])
    assert len(set(groups)) == len(groups)


def test_every_log_ends(any_templates):
    for group in of_type(any_templates, "AWS::Logs::LogGroup"):
        assert 1 <= group["RetentionInDays"] <= 3653


def test_what_becomes_of_an_event_is_said_for_every_function(any_templates):
    functions = {
        f"<{one.id}>": one.properties["FunctionName"].rsplit("-", 1)[1]
        for one in any_templates.of_type("AWS::Lambda::Function")
    }
    settled = set()
    for config in of_type(any_templates, "AWS::Lambda::EventInvokeConfig"):
        settled.add(config["FunctionName"])
        assert 60 <= config["MaximumEventAgeInSeconds"] <= DAY_S
        is_asynchronous = functions[config["FunctionName"]] in ASYNCHRONOUS
        assert ("DestinationConfig" in config) is is_asynchronous
        assert is_asynchronous or config["MaximumRetryAttempts"] == 0
    assert settled == set(functions)


def test_nothing_is_delivered_without_a_dead_letter_queue_whose_content_raises_an_alarm(any_templates):
    targets = [one for rule in of_type(any_templates, "AWS::Events::Rule") for one in rule["Targets"]]
    targets += [schedule["Target"] for schedule in of_type(any_templates, "AWS::Scheduler::Schedule")]
    used = set()
    for target in targets:
        assert target["RetryPolicy"]["MaximumRetryAttempts"] > 0
        assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= DAY_S
        used.add(target["DeadLetterConfig"]["Arn"])
    for config in of_type(any_templates, "AWS::Lambda::EventInvokeConfig"):
        if "DestinationConfig" in config:
            used.add(config["DestinationConfig"]["OnFailure"]["Destination"])
    queues = {
        f"<{one.id}.Arn>": one.properties["QueueName"] for one in any_templates.of_type("AWS::SQS::Queue")
    }
    watched = {
        dimension["Value"]
        for alarm in of_type(any_templates, "AWS::CloudWatch::Alarm")
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible" and alarm["Threshold"] == 0
        for dimension in alarm["Dimensions"]
    }
    assert {queues[arn] for arn in used} == watched


def test_every_state_machine_is_standard_traced_and_logs_all_but_the_users_data(any_templates):
    for machine in of_type(any_templates, "AWS::StepFunctions::StateMachine"):
        assert machine["StateMachineType"] == "STANDARD"
        assert machine["TracingConfiguration"] == {"Enabled": True}
        logging = machine["LoggingConfiguration"]
        assert (logging["Level"], logging["IncludeExecutionData"]) == ("ALL", False)
        assert len(logging["Destinations"]) == 1
        assert json.loads(machine["DefinitionString"])["TimeoutSeconds"] > 0


def test_every_bucket_is_closed_encrypted_and_pays_for_nothing_forgotten(any_templates):
    for bucket in of_type(any_templates, "AWS::S3::Bucket"):
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
        assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        rules = bucket["LifecycleConfiguration"]["Rules"]
        assert [rule for rule in rules if "AbortIncompleteMultipartUpload" in rule and "Prefix" not in rule]
        versioned = bucket.get("VersioningConfiguration") == {"Status": "Enabled"}
        replaced = [rule for rule in rules if "NoncurrentVersionExpiration" in rule]
        assert bool(replaced) is versioned, "replaced versions would be paid for without end"


def test_every_queue_is_encrypted_and_queues_and_topics_refuse_plain_http(any_templates):
    for queue in of_type(any_templates, "AWS::SQS::Queue"):
        assert queue["SqsManagedSseEnabled"] is True
    for type_, resource in (("AWS::SQS::QueuePolicy", "Queues"), ("AWS::SNS::TopicPolicy", "Topics")):
        refusing = {
            policy[resource][0]
            for policy in of_type(any_templates, type_)
            for statement in policy["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
            and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        }
        assert refusing == {f"<{one.id}>" for one in any_templates.of_type(type_.removesuffix("Policy"))}


def test_what_fails_is_watched(any_templates):
    watched = {
        (alarm["Namespace"], alarm["MetricName"])
        for alarm in of_type(any_templates, "AWS::CloudWatch::Alarm")
    }
    assert watched >= {
        ("AWS/States", "ExecutionsFailed"),
        ("AWS/States", "ExecutionsTimedOut"),
        ("AWS/States", "ExecutionThrottled"),
        ("AWS/Lambda", "Errors"),
        ("AWS/Lambda", "Throttles"),
        ("AWS/Lambda", "Duration"),
        ("AWS/Events", "FailedInvocations"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        # Of models: an old one is wrong only if its forecasts are.
        ("Bellwren", "Drifted"),
    }
    assert of_type(any_templates, "AWS::CloudWatch::Dashboard")


def test_cdk_behaves_as_it_does_in_new_projects():
    """Flags without which the templates above would be others."""
    flags = feature_flags()
    for name in (
        "@aws-cdk/aws-iam:minimizePolicies",
        "@aws-cdk/core:enablePartitionLiterals",
        "@aws-cdk/aws-events:eventsTargetQueueSameAccount",
        "@aws-cdk/aws-s3:publicAccessBlockedByDefault",
        "@aws-cdk/aws-stepfunctions:useDistributedMapResultWriterV2",
    ):
        assert flags[name] is True
