"""The state machine of `job_definition`, with its role and its log."""

from __future__ import annotations

import json
from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from bellwren import layout
from infra import access, asl, job_definition
from infra.function import Function
from infra.log_group import log_group
from infra.naming import Names, bucket_arn
from infra.stage import Stage


class JobMachine(Construct):
    """Runs one job per execution."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: Stage,
        prepare: Function,
        plan: Function,
        finish: Function,
        conclude: Function,
        workers: Sequence[Function],
    ) -> None:
        super().__init__(scope, id_)
        settings, names = stage.settings, stage.names
        predict_arn = names.function_arn(names.of("predict"))
        role = iam.Role(
            self,
            "Role",
            description=f"What the jobs of stage {settings.stage} may do between their functions",
            assumed_by=access.trusted_to("states.amazonaws.com"),
        )
        called = [one.arn for one in (prepare, plan, finish, conclude, *workers)] + [predict_arn]
        # The one object that the state machine writes by itself; CDK would grant it no key, nor does a Distributed Map.
        key = access.use_key(settings.kms_key_arn, "kms:GenerateDataKey")
        for statement in (_invoke(called), *_run_map(names), _write_status(names), *key):
            role.add_to_policy(statement)
        # The prefix under /aws/vendedlogs keeps the account's policy for log delivery from growing with each
        # stage.
        log = log_group(
            self, f"/aws/vendedlogs/states/{names.of('jobs')}", retention_days=settings.log_retention_days
        )
        self.resource = sfn.StateMachine(
            self,
            "Resource",
            state_machine_name=names.of("jobs"),
            state_machine_type=sfn.StateMachineType.STANDARD,
            definition_body=sfn.DefinitionBody.from_string(
                json.dumps(job_definition.job_definition(settings))
            ),
            definition_substitutions={
                job_definition.PREPARE: prepare.arn,
                job_definition.PREDICT: predict_arn,
                job_definition.PLAN: plan.arn,
                job_definition.FINISH: finish.arn,
                job_definition.CONCLUDE: conclude.arn,
                job_definition.JOBS_BUCKET: names.bucket("jobs"),
                asl.PARTITION: cdk.Aws.PARTITION,
            },
            role=role,
            tracing_enabled=True,
            # Every event, but not what went in and out: a document may hold what its owner wants in no log.
            logs=sfn.LogOptions(destination=log, level=sfn.LogLevel.ALL, include_execution_data=False),
        )

    @property
    def arn(self) -> str:
        """The state machine's ARN."""
        return self.resource.state_machine_arn


def _invoke(functions: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=functions)


def _run_map(names: Names) -> list[iam.PolicyStatement]:
    """A Distributed Map starts its children as executions of this state machine, watches, ends and redrives them."""
    return [
        iam.PolicyStatement(actions=["states:StartExecution"], resources=[names.state_machine_arn()]),
        iam.PolicyStatement(
            actions=["states:DescribeExecution", "states:StopExecution", "states:RedriveExecution"],
            resources=[names.job_executions_arn("/*")],
        ),
    ]


def _write_status(names: Names) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["s3:PutObject"], resources=[f"{_jobs_arn(names)}/{layout.status('*')}"]
    )


def _jobs_arn(names: Names) -> str:
    return bucket_arn(names.bucket("jobs"))
