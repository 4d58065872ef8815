"""The learning loop: record landed → queue → tick → one training for each algorithm with news.

No edge of it loses anything in silence: what EventBridge cannot put into the queue, what no training takes in so many
tries, and every tick or training that fails lies in a queue with an alarm.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bellwren import layout
from infra import access, environment, permissions, sizes
from infra.code import FunctionCode
from infra.dead_letters import dead_letter_queue
from infra.function import Function
from infra.rules import MAX_AGE, RETRIES, object_created
from infra.stage import Stage

TRIES = 5
"""Trainings that a message may see fail before it is put with the dead letters."""
HIDDEN_S = 1200
"""How long a message that was taken is not handed out again: longer than a training may take."""
_KEPT_DAYS = 14


class Learning(Construct):
    """Composes the queue, the tick and the training."""

    def __init__(self, scope: Construct, id_: str, *, stage: Stage, code: FunctionCode) -> None:
        super().__init__(scope, id_)
        untrained = dead_letter_queue(self, "UntrainedRecords", stage=stage, name="untrained-records")
        failed = dead_letter_queue(self, "FailedTrainings", stage=stage, name="failed-trainings")
        queue = sqs.Queue(
            self,
            "NewRecords",
            queue_name=stage.names.of("new-records"),
            retention_period=cdk.Duration.days(_KEPT_DAYS),
            visibility_timeout=cdk.Duration.seconds(HIDDEN_S),
            dead_letter_queue=sqs.DeadLetterQueue(queue=untrained, max_receive_count=TRIES),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=stage.settings.tls_only,
        )
        variables = {
            **environment.deployment(stage),
            "BELLWREN_RECORDS_QUEUE": queue.queue_url,
            "BELLWREN_TRAIN_FUNCTION": stage.names.of("train"),
        }
        Function(
            self,
            "Train",
            stage=stage,
            name="train",
            module="train",
            size=sizes.TRAIN,
            runtime=code.train(),
            # The matrices are small: a second thread waits more than it computes, and results repeat with one.
            environment={**variables, "OMP_NUM_THREADS": "1"},
            statements=[*permissions.train(stage), access.settle_messages(queue.queue_arn)],
            failures=failed,
            event_retries=0,  # the queue hands its messages out again
        )
        collect = Function(
            self,
            "Collect",
            stage=stage,
            name="collect",
            module="collect",
            size=sizes.COLLECT,
            runtime=code.control(),
            environment=variables,
            statements=[*permissions.collect(stage), access.take_messages(queue.queue_arn)],
            failures=failed,
        )
        _announce(self, stage, queue, untrained)
        _tick(self, stage, collect, failed)


def _announce(scope: Construct, stage: Stage, queue: sqs.Queue, undelivered: sqs.Queue) -> None:
    """Tell the queue of each record, whoever put it there: a job, an import, a restored object."""
    rule = object_created(
        scope,
        "RecordLanded",
        stage=stage,
        name="record-landed",
        description="An execution record was put into the records bucket",
        bucket="records",
        key={"prefix": layout.RECORDS},
    )
    rule.add_target(
        targets.SqsQueue(queue, dead_letter_queue=undelivered, retry_attempts=RETRIES, max_event_age=MAX_AGE)
    )


def _tick(scope: Construct, stage: Stage, collect: Function, failed: sqs.Queue) -> None:
    """Look at the queue every so often. A tick that finds it empty ends within milliseconds."""
    role = iam.Role(
        scope,
        "TickRole",
        description=f"Calls the tick of stage {stage.settings.stage}",
        assumed_by=access.trusted_to("scheduler.amazonaws.com"),
    )
    role.add_to_policy(access.invoke(collect.arn))
    role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[failed.queue_arn]))
    schedule = scheduler.CfnSchedule(
        scope,
        "Tick",
        name=stage.names.of("retraining"),
        description="Looks for new execution records",
        schedule_expression=stage.settings.retraining_schedule,
        flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
        target=scheduler.CfnSchedule.TargetProperty(
            arn=collect.arn,
            role_arn=role.role_arn,
            input="{}",
            dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=failed.queue_arn),
            retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                maximum_event_age_in_seconds=3600, maximum_retry_attempts=3
            ),
        ),
    )
    schedule.node.add_dependency(role)
