"""One training: the records of one algorithm become its next model, if that is better than the one in service.

On AWS this runs in a container image, for PyTorch fits no zip; on the local cloud from the same source.
"""

from __future__ import annotations

import os
import time
from typing import Any

from bellwren.deployment import Deployment
from bellwren.learning.metrics import emitter
from bellwren.learning.queue import RecordQueue
from bellwren.learning.training import Lesson, Task
from bellwren.store import Store
from functions.log import logged

_MARGIN_S = 30.0
"""Kept for noting what came of it."""


@logged
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Train ``event["algorithm"]`` for the messages of ``event["batch"]``."""
    deployment = Deployment.from_environment()
    task = Task(
        algorithm=event["algorithm"],
        batch=event["batch"],
        records=Store(deployment.records_bucket),
        models=Store(deployment.models_bucket),
        queue=RecordQueue(os.environ["BELLWREN_RECORDS_QUEUE"]),
        learn=_learn,
        emit=emitter(deployment.stage),
        until=time.monotonic() + context.get_remaining_time_in_millis() / 1000 - _MARGIN_S,
    )
    return task.run(context.aws_request_id)


def _learn(lesson: Lesson) -> dict[str, Any]:
    from training.learn import learn  # noqa: PLC0415  PyTorch takes seconds, and a batch without news needs none

    return learn(lesson)
