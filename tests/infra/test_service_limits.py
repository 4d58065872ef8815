"""What AWS refuses for its size, at the largest settings that are allowed. The emulator takes all of it."""

from __future__ import annotations

import json
import re

import pytest

LONGEST = {"eu-west-1": "ap-southeast-1", "arn:aws:": "arn:aws-us-gov:"}
"""No region and no partition has a longer name; the tests' templates are worked out for shorter ones."""

# Quotas and constraints as the API references of the services have them.
NAMES = {
    "AWS::CloudWatch::Alarm": ("AlarmName", 255),
    "AWS::CloudWatch::Dashboard": ("DashboardName", 255),
    "AWS::Events::Rule": ("Name", 64),
    "AWS::Lambda::Function": ("FunctionName", 64),
    "AWS::Logs::LogGroup": ("LogGroupName", 512),
    "AWS::S3::Bucket": ("BucketName", 63),
    "AWS::Scheduler::Schedule": ("Name", 64),
    "AWS::SNS::Topic": ("TopicName", 256),
    "AWS::SQS::Queue": ("QueueName", 80),
    "AWS::SSM::Parameter": ("Name", 1011),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", 80),
}
ENVIRONMENT_BYTES = 4096
ROLE_POLICY_CHARACTERS = 10_240
TRUST_POLICY_CHARACTERS = 2048
PARAMETER_BYTES = 8192
TEMPLATE_BYTES = 1_000_000
RESOURCES = 500
PACKAGES = 150
"""As many as a bundle of 250 MB may well have, each with a name of twenty letters."""


@pytest.fixture(scope="module")
def largest(variant):
    return variant("largest")


@pytest.fixture(scope="module")
def as_deployed(largest):
    """A property as it will be: with the ARNs of functions, and the longest region."""
    functions = {
        f"<{one.id}.Arn>": f"arn:aws:lambda:eu-west-1:123456789012:function:{one.properties['FunctionName']}"
        for one in largest.of_type("AWS::Lambda::Function")
    }

    def text(value):
        found = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for short, long in {**functions, **LONGEST}.items():
            found = found.replace(short, long)
        return found

    return text


def test_names_are_as_long_as_they_may_be_and_no_longer(largest, as_deployed):
    seen = set()
    for resource in largest.all():
        if resource.type in NAMES:
            name, most = NAMES[resource.type]
            assert len(as_deployed(resource.properties[name])) <= most, resource.properties[name]
            seen.add(resource.type)
    assert seen == set(NAMES)


def test_bucket_names_are_ones_that_s3_takes(largest, as_deployed):
    for bucket in largest.of_type("AWS::S3::Bucket"):
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", as_deployed(bucket.properties["BucketName"]))


def test_the_variables_of_every_function_fit(largest, as_deployed):
    for function in largest.of_type("AWS::Lambda::Function"):
        variables = function.properties["Environment"]["Variables"]
        size = sum(len(name) + len(as_deployed(value)) for name, value in variables.items())
        assert size <= ENVIRONMENT_BYTES, function.id


def test_the_policies_of_every_role_fit(largest, as_deployed):
    for policy in largest.of_type("AWS::IAM::Policy"):
        assert len(as_deployed(policy.properties["PolicyDocument"])) <= ROLE_POLICY_CHARACTERS, policy.id
    for role in largest.of_type("AWS::IAM::Role"):
        assert len(as_deployed(role.properties["AssumeRolePolicyDocument"])) <= TRUST_POLICY_CHARACTERS


def test_the_parameter_that_says_where_everything_is_has_room_for_the_workers_packages(largest, as_deployed):
    (parameter,) = largest.of_type("AWS::SSM::Parameter")
    where = json.loads(as_deployed(parameter.properties["Value"]))
    where["worker_packages"] = [f"{number:020}" for number in range(PACKAGES)]
    size = len(json.dumps(where, separators=(",", ":")))
    assert 4096 < size <= PARAMETER_BYTES
    assert parameter.properties["Tier"] == "Intelligent-Tiering", "a standard parameter holds 4096 bytes"


def test_every_template_fits(largest):
    for template in largest.raw.values():
        assert len(json.dumps(template)) < TEMPLATE_BYTES
        assert len(template["Resources"]) <= RESOURCES


def test_what_describes_a_resource_is_short_enough_and_in_letters_that_aws_takes(largest):
    most = {"AWS::Lambda::Function": 256, "AWS::IAM::Role": 1000, "AWS::Events::Rule": 512}
    for resource in largest.all():
        text = resource.properties.get("Description", "")
        assert len(text) <= most.get(resource.type, 512)
        assert text.isascii(), f"IAM and Lambda refuse some letters: {text}"
