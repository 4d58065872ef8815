"""Policy statements for storage: exact actions on exact keys, one function for each thing that a role may do."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from infra.naming import bucket_arn


def trusted_to(service: str) -> iam.ServicePrincipal:
    """A service of AWS that may take a role on behalf of this account alone.

    The service takes roles for every account, so without the condition another account could have it take ours (the
    confused deputy). Lambda documents no such condition.
    """
    own_account = {"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
    return iam.ServicePrincipal(service, conditions=own_account)


def read(bucket: str, *keys: str) -> iam.PolicyStatement:
    """Get objects whose keys match one of the patterns."""
    return _allow(["s3:GetObject"], [bucket_arn(bucket, key) for key in keys])


def write(bucket: str, *keys: str) -> iam.PolicyStatement:
    """Create objects, whole or in parts; a part upload that does not end well is taken back."""
    return _allow(["s3:PutObject", "s3:AbortMultipartUpload"], [bucket_arn(bucket, key) for key in keys])


def erase(bucket: str, *keys: str) -> iam.PolicyStatement:
    """Delete objects."""
    return _allow(["s3:DeleteObject"], [bucket_arn(bucket, key) for key in keys])


def look_up(*buckets: str) -> iam.PolicyStatement:
    """List the keys of whole buckets.

    Without a condition on the prefix, since only then does S3 answer 404 to who asks for an object that is
    not there (a claim, a cancellation); a role that may list a prefix alone gets 403, which says nothing.
    """
    return _allow(["s3:ListBucket"], [bucket_arn(bucket) for bucket in buckets])


def invoke(function_arn: str) -> iam.PolicyStatement:
    """Call a function."""
    return _allow(["lambda:InvokeFunction"], [function_arn])


def take_messages(queue_arn: str) -> iam.PolicyStatement:
    """Receive messages, delete those that are dealt with, and see how many are left."""
    return _allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [queue_arn])


def settle_messages(queue_arn: str) -> iam.PolicyStatement:
    """Delete messages that another function received, or give them back."""
    return _allow(["sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], [queue_arn])


def use_key(key_arn: str | None, *actions: str) -> list[iam.PolicyStatement]:
    """Have S3, and nothing else, encrypt and decrypt objects with the deployment's key, where it has one."""
    if key_arn is None:
        return []
    through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}"}}
    return [iam.PolicyStatement(actions=list(actions), resources=[key_arn], conditions=through_s3)]


def read_inputs(buckets: Iterable[str]) -> list[iam.PolicyStatement]:
    """List and read the buckets that hold the users' data."""
    names = list(buckets)
    return [_allow(["s3:GetObject"], [bucket_arn(name, "*") for name in names]), look_up(*names)]


def _allow(actions: list[str], resources: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=resources)
