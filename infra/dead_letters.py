"""A queue for what could not be delivered, kept long enough to look at and to send again."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.stage import Stage

_KEPT_DAYS = 14


def dead_letter_queue(scope: Construct, id_: str, *, stage: Stage, name: str) -> sqs.Queue:
    """A queue that is encrypted, takes nothing over plain HTTP, and keeps what it has for the longest time
    there is.
    """
    return sqs.Queue(
        scope,
        id_,
        queue_name=stage.names.of(name),
        retention_period=cdk.Duration.days(_KEPT_DAYS),
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=stage.settings.tls_only,
    )
