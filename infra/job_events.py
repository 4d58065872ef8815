"""The two events around jobs: a document that lands in ``specs/`` starts one, and an execution that ends
badly is seen to.

Neither can be lost in silence: what EventBridge or Lambda cannot deliver lies in a queue, and a queue that is
not empty raises an alarm.
"""

from __future__ import annotations

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bellwren import layout
from infra import access
from infra.function import Function
from infra.job_machine import JobMachine
from infra.rules import MAX_AGE, RETRIES, object_created
from infra.stage import Stage


class SpecDropped(Construct):
    """Starts the state machine with the S3 event for each document put at ``specs/<name>.json``, whatever its
    name.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: Stage,
        machine: JobMachine,
        undelivered: sqs.IQueue,
    ) -> None:
        super().__init__(scope, id_)
        role = iam.Role(
            self,
            "Role",
            description="Starts a job for a dropped document",
            assumed_by=access.trusted_to("events.amazonaws.com"),
        )
        rule = object_created(
            self,
            "Rule",
            stage=stage,
            name="spec-dropped",
            description="A job document was put into the jobs bucket",
            bucket="jobs",
            key={"wildcard": f"{layout.SPECS}*.json"},
        )
        rule.add_target(
            targets.SfnStateMachine(
                machine.resource,
                role=role,
                dead_letter_queue=undelivered,
                retry_attempts=RETRIES,
                max_event_age=MAX_AGE,
            )
        )


class JobEnded(Construct):
    """Lets Finish write the last status of an execution that ended without it: aborted, timed out, failed."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: Stage,
        machine: JobMachine,
        finish: Function,
        undelivered: sqs.IQueue,
    ) -> None:
        super().__init__(scope, id_)
        rule = events.Rule(
            self,
            "Rule",
            rule_name=stage.names.of("job-ended"),
            description="A job's execution was aborted, timed out or failed",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "stateMachineArn": [machine.arn],
                    "status": ["ABORTED", "FAILED", "TIMED_OUT"],
                },
            ),
        )
        rule.add_target(
            targets.LambdaFunction(
                finish.resource,
                dead_letter_queue=undelivered,
                retry_attempts=RETRIES,
                max_event_age=MAX_AGE,
            )
        )
