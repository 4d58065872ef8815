"""One worker of a stage. Parses, hands over to the engine, answers."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

from bellwren.engine import operations, runner, supervisor
from bellwren.engine.nursery import Nursery
from functions.log import logged

_environment = {"cold": True}
"""An environment of Lambda serves one invocation after the other; the first had to wait for it to start."""
_JOBS_BUCKET = os.environ.get("BELLWREN_JOBS_BUCKET", "")

# What is loaded by now stays: a collection in any of the processes that are forked from here need not look through it,
# nor get pages of its own by doing so.
gc.collect()
gc.freeze()


@logged
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run one worker of one round. Returns ``{}``; what was done lies in storage."""
    assignment = supervisor.Assignment(
        job_id=event["job_id"],
        stage=event["stage"],
        round=event["round"],
        worker=event["worker"],
        invocation=context.aws_request_id,
        deadline=time.monotonic() + context.get_remaining_time_in_millis() / 1000,
        memory_mb=int(context.memory_limit_in_mb),
        jobs_bucket=_JOBS_BUCKET,
        cold=_environment["cold"],
    )
    _environment["cold"] = False
    operations.load_ahead(event["stage"])
    return Nursery(
        lambda control, progress, _: supervisor.live(assignment, control, progress),
        runner.live,
        {
            "function": "worker",
            "job_id": assignment.job_id,
            "stage": assignment.stage,
            "round": assignment.round,
        },
    ).invoke()
