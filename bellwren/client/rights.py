"""What somebody needs who submits jobs: the actions that the client makes, on the narrowest resources."""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.deployment import Deployment

Rights = list[tuple[list[str], list[str]]]
"""Actions, and the resources that they are needed on."""


def of_users(deployment: Deployment) -> Rights:
    """For submitting, following, cancelling and resuming jobs, for their results, and for forecasts.

    Inputs and outputs in the stage's data bucket are in it; other buckets, and keys of one's own, are their owners'.
    """
    _, partition, _, region, account, *_ = deployment.state_machine_arn.split(":")
    bucket = f"arn:{partition}:s3:::"
    jobs, data = bucket + deployment.jobs_bucket, bucket + deployment.data_bucket
    written = (layout.SPECS, layout.CODE, layout.JOBS)
    here = f"{region}:{account}"
    return [
        (["ssm:GetParameter"], [f"arn:{partition}:ssm:{here}:parameter{_parameter(deployment)}"]),
        (["s3:ListBucket"], [jobs, data]),
        (["s3:GetObject"], [f"{jobs}/*", f"{data}/*"]),
        (
            ["s3:PutObject", "s3:AbortMultipartUpload"],
            [*(f"{jobs}/{prefix}*" for prefix in written), f"{jobs}/{_CANCELLED}", f"{data}/*"],
        ),
        (["states:StartExecution"], [deployment.state_machine_arn]),
        (
            ["states:DescribeExecution", "states:StopExecution"],
            [deployment.state_machine_arn.replace(":stateMachine:", ":execution:") + ":*"],
        ),
        (
            ["lambda:InvokeFunction"],
            [f"arn:{partition}:lambda:{here}:function:{deployment.prediction_function}"],
        ),
    ]


def policy(deployment: Deployment) -> dict[str, Any]:
    """The same as an IAM policy."""
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": resources}
        for actions, resources in of_users(deployment)
    ]
    return {"Version": "2012-10-17", "Statement": statements}


_CANCELLED = f"{layout.WORK}*/{layout.cancel('any').rpartition('/')[2]}"


def _parameter(deployment: Deployment) -> str:
    return layout.deployment_parameter(deployment.stage)
