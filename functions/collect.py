"""The tick of the learning loop: new records become trainings. Also what ``bellwren retrain`` calls."""

from __future__ import annotations

import json
import os
import time
from functools import cache
from typing import Any

from bellwren.deployment import Deployment
from bellwren.learning.collect import Tick
from bellwren.learning.queue import RecordQueue
from bellwren.store import Store
from functions.log import logged

_MARGIN_S = 20.0
"""Kept for starting the trainings of what was taken."""


@logged
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Start what the queue asks for; with ``{"algorithm": ...}`` a training of that one, records or not."""
    tick = _tick()
    asked = event.get("algorithm")
    if asked:
        return tick.demand(str(asked)).as_dict()
    until = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - _MARGIN_S
    return tick.collect(until).as_dict()


@cache
def _tick() -> Tick:
    import boto3  # noqa: PLC0415  once for each environment, and not while the module loads

    deployment = Deployment.from_environment()
    functions = boto3.client("lambda")

    def start(algorithm: str, batch: str) -> None:
        functions.invoke(
            FunctionName=os.environ["BELLWREN_TRAIN_FUNCTION"],
            InvocationType="Event",
            Payload=json.dumps({"algorithm": algorithm, "batch": batch}).encode(),
        )

    return Tick(
        RecordQueue(os.environ["BELLWREN_RECORDS_QUEUE"]),
        Store(deployment.records_bucket),
        Store(deployment.models_bucket),
        start,
    )
