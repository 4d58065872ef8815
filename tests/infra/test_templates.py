"""What holds for the templates as a whole, for several settings."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from reading import feature_flags

import bellwren
from infra.application import build
from infra.settings import Settings

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)

STACKS = ["storage", "prediction", "compute", "observability"]
NAME_OF = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::Events::Rule": "Name",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SSM::Parameter": "Name",
    "AWS::StepFunctions::StateMachine": "StateMachineName",
}


def references(value):
    """Every ``Ref`` and ``Fn::GetAtt`` in a template's value, and the names of intrinsic functions."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key.startswith("Fn::") or key == "Ref":
                yield key
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_a_deployment_is_four_stacks(templates):
    assert list(templates.raw) == STACKS


def test_stacks_are_deployed_in_order_and_removed_in_the_reverse(source_only):
    stacks = build(cdk.App(context=feature_flags()), Settings(), source_only)
    assert [stack.stack_name.rsplit("-", 1)[1] for stack in stacks] == STACKS
    for before, after in itertools.pairwise(stacks):
        assert [one.stack_name for one in after.dependencies] == [before.stack_name]


def test_buckets_alone_outlive_their_stack(variant):
    for name in ("smallest", "full", "key"):
        outliving = {
            resource.type
            for resource in variant(name).all()
            for policy in ("DeletionPolicy", "UpdateReplacePolicy")
            if resource.raw.get(policy, "Delete") != "Delete"
        }
        assert outliving == {"AWS::S3::Bucket"}


def test_no_stack_holds_a_reference_into_another(templates):
    for template in templates.raw.values():
        assert "Fn::ImportValue" not in set(references(template))
        assert not [name for name in template.get("Outputs", {}) if "Export" in template["Outputs"][name]]


def test_no_template_names_a_partition_a_region_or_an_account(variant):
    """China and GovCloud have ARNs of their own; "arn:aws:states:::lambda:invoke" is refused there."""
    for name in ("smallest", "full", "local"):
        for stack, template in variant(name).raw.items():
            text = json.dumps(template)
            assert not re.findall(r"arn:aws[:-][^\"]*|\b[a-z]{2}-[a-z]+-\d\b|\b\d{12}\b", text), (name, stack)


def test_there_are_no_hidden_functions_or_custom_resources(templates):
    for resource in templates.all():
        assert not resource.type.startswith(("Custom::", "AWS::CloudFormation::CustomResource"))
    names = [function.properties["FunctionName"] for function in templates.of_type("AWS::Lambda::Function")]
    assert all(name.startswith("bellwren-test-") for name in names)


def test_every_resource_that_can_be_tagged_says_which_deployment_it_belongs_to(templates):
    taggable = (
        "AWS::S3::Bucket",
        "AWS::Lambda::Function",
        "AWS::IAM::Role",
        "AWS::SQS::Queue",
        "AWS::StepFunctions::StateMachine",
        "AWS::Logs::LogGroup",
    )
    for type_ in taggable:
        for resource in templates.of_type(type_):
            assert {"Key": "bellwren:stage", "Value": "test"} in resource.properties["Tags"]


def test_one_parameter_says_where_everything_is(templates):
    (parameter,) = templates.of_type("AWS::SSM::Parameter")
    assert parameter.properties["Name"] == "/bellwren/test"
    where = json.loads(parameter.properties["Value"])
    (machine,) = templates.of_type("AWS::StepFunctions::StateMachine")
    workers = {
        function.properties["FunctionName"].rsplit("-", 1)[1]: f"<{function.id}.Arn>"
        for function in templates.of_type("AWS::Lambda::Function", "compute")
        if "worker" in function.properties["FunctionName"]
    }
    assert where.pop("python").startswith("3.")
    assert all(tag.endswith("_aarch64") for tag in where.pop("worker_platforms"))
    assert isinstance(where.pop("worker_packages"), list)
    assert where == {
        "stage": "test",
        "region": "eu-west-1",
        "account": "123456789012",
        "version": bellwren.__version__,
        "jobs_bucket": "bellwren-test-jobs-123456789012-eu-west-1",
        "data_bucket": "bellwren-test-data-123456789012-eu-west-1",
        "records_bucket": "bellwren-test-records-123456789012-eu-west-1",
        "models_bucket": "bellwren-test-models-123456789012-eu-west-1",
        "state_machine_arn": f"<{machine.id}>",
        "prediction_function": "bellwren-test-predict",
        "collect_function": "bellwren-test-collect",
        "worker_functions": workers,
        "max_workers": 500,
        "input_buckets": ["books"],
    }


def test_two_stages_in_one_account_share_no_name(templates, variant):
    assert not names(templates) & names(variant("key"))


def names(templates):
    return {
        (resource.type, resource.properties[NAME_OF[resource.type]])
        for resource in templates.all()
        if resource.type in NAME_OF
    }


@pytest.fixture(scope="session")
def smallest(variant):
    return variant("smallest")


def test_without_an_address_the_alarms_are_there_and_tell_nobody(smallest):
    assert smallest.of_type("AWS::CloudWatch::Alarm")
    assert not smallest.of_type("AWS::SNS::Subscription")


def test_the_templates_for_the_emulator_differ_from_those_for_aws_in_transport_alone(smallest, variant):
    """Every other difference would be something that the local cloud does not test."""
    local = variant("local")
    assert list(local.raw) == list(smallest.raw)
    for stack in local.raw:
        assert without_transport(local, stack) == without_transport(smallest, stack)


def without_transport(templates, stack):
    resources = {}
    for resource in templates.all(stack):
        properties = json.loads(json.dumps(resource.properties))
        if resource.type in ("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
            continue
        if resource.type == "AWS::SSM::Parameter":
            # The emulator's workers run in this machine's Python, and so have its platform and its packages.
            where = json.loads(properties["Value"])
            properties["Value"] = {name: where[name] for name in where if not name.startswith("worker_p")}
        if resource.type == "AWS::SQS::QueuePolicy":
            statements = properties["PolicyDocument"]["Statement"]
            allowing = [one for one in statements if one["Effect"] == "Allow"]
            if not allowing:
                continue
            properties["PolicyDocument"]["Statement"] = allowing
        if resource.type == "AWS::Lambda::Function":
            # The prediction function's Python is chosen by its wheels, of which the emulator needs none. Training
            # is a container image on AWS, and the same source on the emulator.
            for name in ("Runtime", "Handler", "PackageType", "Code"):
                properties.pop(name, None)
        resources[resource.id] = (resource.type, properties)
    return resources
