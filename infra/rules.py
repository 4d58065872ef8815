"""Rules of EventBridge that more than one part of the system has, and how long it tries to deliver."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from constructs import Construct

from infra.stage import Stage

# EventBridge's own upper bounds: a day of trying.
RETRIES = 185
MAX_AGE = cdk.Duration.hours(24)


def object_created(
    scope: Construct, id_: str, *, stage: Stage, name: str, description: str, bucket: str, key: dict[str, Any]
) -> events.Rule:
    """A rule for each object that is put into the stage's ``bucket`` under a key that ``key`` matches."""
    return events.Rule(
        scope,
        id_,
        rule_name=stage.names.of(name),
        description=description,
        event_pattern=events.EventPattern(
            source=["aws.s3"],
            detail_type=["Object Created"],
            detail={"bucket": {"name": [stage.names.bucket(bucket)]}, "object": {"key": [key]}},
        ),
    )
