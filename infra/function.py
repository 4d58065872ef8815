"""One Lambda function with everything that belongs to it: role, log group, tracing, and what becomes of lost
events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import access
from infra.log_group import log_group
from infra.sizes import Size
from infra.stage import Stage

_EVENT_RETRIES = 2
_MAX_EVENT_AGE_S = 6 * 60 * 60
_SHORTEST_EVENT_AGE_S = 60


@dataclass(frozen=True)
class Runtime:
    """What a function runs on and from."""

    python: str
    """Minor version, e.g. ``3.12``."""
    architecture: str
    """``arm64`` or ``x86_64``."""
    code: lambda_.Code
    image: bool = False
    """Whether the code is a container image, which brings its own Python and says what to call."""


class Function(Construct):
    """A function whose role may do what its statements say, write to its own log group, and nothing else."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: Stage,
        name: str,
        module: str,
        size: Size,
        runtime: Runtime,
        statements: Sequence[iam.PolicyStatement],
        environment: Mapping[str, str],
        failures: sqs.IQueue | None = None,
        event_retries: int = _EVENT_RETRIES,
        reserved_concurrency: int | None = None,
        subnets: Sequence[str] = (),
        security_groups: Sequence[str] = (),
    ) -> None:
        """``module`` is the handler's module in ``functions/``.

        ``failures`` takes the events of a function that is invoked asynchronously, when all tries have
        failed. One that is only invoked synchronously has a caller that sees the failure, and needs no right
        to write to a queue. ``event_retries`` says how often Lambda tries such an event again. ``subnets`` and
        ``security_groups`` are ids, of a function that runs in a VPC.
        """
        super().__init__(scope, id_)
        full_name = stage.names.of(name)
        group = log_group(self, f"/aws/lambda/{full_name}", retention_days=stage.settings.log_retention_days)
        self.role = iam.Role(
            self,
            "Role",
            description=f"What {full_name} may do",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        # To read an object with a key of one's own takes Decrypt, to write one GenerateDataKey, in parts both.
        key = access.use_key(stage.settings.kms_key_arn, "kms:Decrypt", "kms:GenerateDataKey")
        network = _join_network(stage.names.function_arn(full_name)) if subnets else []
        for statement in (_write_logs(group), *statements, *key, *network):
            self.role.add_to_policy(statement)
        self.resource = lambda_.Function(
            self,
            "Resource",
            function_name=full_name,
            description=f"Bellwren {stage.settings.stage}: {module}",
            code=runtime.code,
            handler=lambda_.Handler.FROM_IMAGE if runtime.image else f"functions.{module}.handler",
            runtime=lambda_.Runtime.FROM_IMAGE
            if runtime.image
            else lambda_.Runtime(f"python{runtime.python}", lambda_.RuntimeFamily.PYTHON),
            architecture=_ARCHITECTURES[runtime.architecture],
            memory_size=size.memory_mb,
            timeout=cdk.Duration.seconds(size.timeout_s),
            environment=dict(environment),
            role=self.role,
            log_group=group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
            reserved_concurrent_executions=reserved_concurrency,
        )
        if subnets:
            # The construct would look the VPC up in the account, which synthesis never asks.
            function = self.resource.node.default_child
            assert isinstance(function, lambda_.CfnFunction)
            function.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
                subnet_ids=list(subnets), security_group_ids=list(security_groups)
            )
        self._settle_events(failures, event_retries)

    def _settle_events(self, failures: sqs.IQueue | None, retries: int) -> None:
        """Say what becomes of events that the function was sent asynchronously and failed on.

        Written out, because the construct for a destination grants more than the one action that it takes.
        """
        on_failure = None
        if failures is not None:
            self.role.add_to_policy(
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[failures.queue_arn])
            )
            target = lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=failures.queue_arn)
            on_failure = lambda_.CfnEventInvokeConfig.DestinationConfigProperty(on_failure=target)
        config = lambda_.CfnEventInvokeConfig(
            self,
            "Events",
            function_name=self.resource.function_name,
            qualifier="$LATEST",
            maximum_event_age_in_seconds=_MAX_EVENT_AGE_S if failures else _SHORTEST_EVENT_AGE_S,
            maximum_retry_attempts=retries if failures else 0,
            destination_config=on_failure,
        )
        config.node.add_dependency(self.role)  # Lambda checks at once that the role may write there

    @property
    def arn(self) -> str:
        """The function's ARN."""
        return self.resource.function_arn


_ARCHITECTURES = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}


def _write_logs(group: logs.LogGroup) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[group.log_group_arn]
    )


_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
)


def _join_network(function_arn: str) -> list[iam.PolicyStatement]:
    """What Lambda needs, by the function's role, to put it into subnets, and what the code in it gets no part of.

    As the Lambda developer guide has it ("Giving Lambda functions access to resources in an Amazon VPC"): network
    interfaces have no names beforehand, and calls from within the function are told by ``lambda:SourceFunctionArn``.
    """
    from_within = {"ArnEquals": {"lambda:SourceFunctionArn": function_arn}}
    return [
        iam.PolicyStatement(actions=list(_INTERFACES), resources=["*"]),
        iam.PolicyStatement(
            effect=iam.Effect.DENY, actions=list(_INTERFACES), resources=["*"], conditions=from_within
        ),
    ]
