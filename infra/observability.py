"""Alarms that say a deployment needs someone, and the dashboard that says how it does."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra import access, watched
from infra.stage import Stage
from infra.watched import Watch


class Observability(cdk.Stack):
    """Watches the other stacks by the names of their metrics, so it can come and go by itself."""

    def __init__(self, scope: Construct, id_: str, *, stage: Stage, **options: Any) -> None:
        super().__init__(scope, id_, **options)
        self._names = names = stage.names
        settings = stage.settings
        self._topic = sns.Topic(
            self, "Alarms", topic_name=names.of("alarms"), enforce_ssl=settings.tls_only or None
        )
        # The policy for TLS takes the place of the one that every topic is born with, and that one lets alarms in.
        self._topic.add_to_resource_policy(_alarms_may_publish(self._topic))
        if settings.alarm_email:
            self._topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        for watch in watched.alarms(stage):
            self._alarm(watch)
        self._dashboard(stage)

    def _alarm(self, watch: Watch) -> None:
        alarm = cloudwatch.Alarm(
            self,
            watch.name.title(),
            alarm_name=self._names.of(watch.name),
            alarm_description=watch.what_it_means,
            metric=watch.metric,
            threshold=watch.threshold,
            evaluation_periods=watch.periods,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self._topic))
        alarm.add_ok_action(actions.SnsAction(self._topic))

    def _dashboard(self, stage: Stage) -> None:
        dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=self._names.of("jobs"),
            default_interval=cdk.Duration.days(1),
        )
        for row in watched.dashboard(stage):
            width = 24 // len(row)
            dashboard.add_widgets(
                *(
                    cloudwatch.GraphWidget(title=title, left=metrics, width=width)
                    for title, metrics in row.items()
                )
            )


def _alarms_may_publish(topic: sns.Topic) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="AlarmsOfThisAccount",
        actions=["sns:Publish"],
        resources=[topic.topic_arn],
        principals=[access.trusted_to("cloudwatch.amazonaws.com")],
    )
