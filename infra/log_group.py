"""A log group with a name and an end."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct


def log_group(scope: Construct, name: str, *, retention_days: int) -> logs.LogGroup:
    """A log group that goes with its stack; ``retention_days`` is one of the periods that CloudWatch knows."""
    group = logs.LogGroup(scope, "Logs", log_group_name=name, removal_policy=cdk.RemovalPolicy.DESTROY)
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)
    resource.retention_in_days = (
        retention_days  # the construct takes a name for each period, we have the number
    )
    return group
