"""cdk-nag over the templates, and every finding that stands, with the reason why.

Each acknowledgement names one finding at the constructs that have it, so that nothing new hides behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks, ServerlessChecks
from constructs import IConstruct

from bellwren import layout
from infra.stage import Stage

_KEYS_OF_JOBS = (layout.JOBS, layout.WORK, layout.CODE, layout.SPECS, layout.SUBMITTED)


def check(app: cdk.App, stacks: Iterable[cdk.Stack], stage: Stage) -> None:
    """Have the app refuse to synthesise a template with a finding that is not acknowledged here."""
    acknowledge(stacks, stage)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))


def acknowledge(stacks: Iterable[cdk.Stack], stage: Stage) -> None:
    """Say of each finding that stands in the stacks of a stage why it does."""
    for construct in (one for stack in stacks for one in stack.node.find_all()):
        for id_, reason in _acknowledged(construct, stage):
            cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=id_, reason=reason))


def _acknowledged(construct: IConstruct, stage: Stage) -> Iterator[tuple[str, str]]:
    """Findings that stand at one construct."""
    if isinstance(construct, iam.CfnPolicy):
        for resource, reason in _wildcards(stage).items():
            yield f"AwsSolutions-IAM5[Resource::{resource}]", reason
    if isinstance(construct, s3.CfnBucket):
        yield (
            "AwsSolutions-S1",
            "S3 data events in CloudTrail tell more, and who wants them turns them on there",
        )
    if isinstance(construct, lambda_.CfnFunction):
        python = "It runs the Python of the clients, whose functions travel as pickles"
        yield "AwsSolutions-L1", python
        yield "Serverless-LambdaLatestVersion", python
        yield (
            "Serverless-LambdaDLQ",
            "What is sent asynchronously has an on-failure destination, which says more",
        )
    if isinstance(construct, lambda_.CfnEventInvokeConfig) and construct.destination_config is None:
        yield (
            "Serverless-LambdaAsyncFailureDestination",
            "It is invoked synchronously alone; a queue would give the users' code a right to write into it",
        )
    if isinstance(construct, sqs.CfnQueue) and construct.redrive_policy is None:
        itself = "It is the dead-letter queue of EventBridge and Lambda, with an alarm on what lies in it"
        yield "AwsSolutions-SQS3", itself
        yield "Serverless-SQSRedrivePolicy", itself
    if isinstance(construct, sns.CfnSubscription):
        yield "Serverless-SNSRedrivePolicy", "An e-mail that cannot be delivered is of no use later"


def _wildcards(stage: Stage) -> dict[str, str]:
    """Resources with a ``*`` that policies name, as cdk-nag writes them."""
    run_time = "The names of these objects exist only at run time"
    named = {
        **{_key(stage, "jobs", f"{prefix}*"): run_time for prefix in _KEYS_OF_JOBS},
        _key(stage, "jobs", layout.status("*")): "The status of each job, and no other object",
        _key(stage, "jobs", layout.forecast("*")): "The forecast of each job, and no other object",
        _key(stage, "jobs", f"{layout.results('*')}*"): "The results of each job, and none of its documents",
        _key(
            stage, "jobs", f"{layout.errors('*')}*"
        ): "The failed items of each job, and none of its documents",
        _key(stage, "jobs", f"{layout.logs('*')}*"): "What each job printed, and none of its documents",
        _key(stage, "data", "*"): "The whole bucket is for the users' data",
        _key(stage, "records", f"{layout.RECORDS}*"): run_time,
        _key(stage, "records", f"{layout.QUARANTINE}*"): "Damaged records, and none that is learned from",
        _key(stage, "models", layout.learning("*")): "How learning stands for each algorithm, and no model",
        _key(stage, "models", f"{layout.BATCHES}*"): run_time,
        _key(stage, "models", f"{layout.MODELS}*"): run_time,
        _arn("states", f"execution:{stage.names.of('jobs')}/*"): "The children of a map have generated names",
        "*": "X-Ray, the delivery of logs by Step Functions and network interfaces know no narrower resource",
    }
    inputs = {
        f"arn:<AWS::Partition>:s3:::{bucket}/*": "Whoever deploys gave this bucket for jobs to read"
        for bucket in stage.settings.input_buckets
    }
    return {**named, **inputs}


def _key(stage: Stage, bucket: str, key: str) -> str:
    return f"arn:<AWS::Partition>:s3:::{stage.names.of(bucket)}-<AWS::AccountId>-<AWS::Region>/{key}"


def _arn(service: str, resource: str) -> str:
    return f"arn:<AWS::Partition>:{service}:<AWS::Region>:<AWS::AccountId>:{resource}"
