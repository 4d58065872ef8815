"""What one job tells CloudWatch when it ends: figures of its execution record, under names that do not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JOB_METRICS = (
    *(
        "Jobs",
        "JobsFailed",
        "RuntimeS",
        "CostUsd",
        "BilledGbS",
        "ColdStarts",
        "Retries",
        "LostRunners",
        "QueueS",
    ),
    *("RunError", "RunWithin95"),
)
"""All that there are. Seconds have an ``S`` at their end, dollars ``Usd``."""


def job_metrics(record: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a job, from its execution record (`bellwren.records.document`).

    ``Retries`` are invocations of workers beyond the first of each round; ``QueueS`` is what workers waited to start,
    which is how throttling shows in a job. ``RunError`` is \\|forecast - runtime\\| / runtime, and ``RunWithin95`` is 1
    where the runtime stayed within its forecast 95 % quantile; both are there for runs that one may learn from.
    """
    stages = record["stages"]
    values: dict[str, float] = {
        "Jobs": 1,
        "JobsFailed": record["outcome"] == "FAILED",
        "RuntimeS": record["runtime_s"],
        "CostUsd": record["cost_usd"],
        "BilledGbS": record["billed_gb_s"],
        "ColdStarts": record["cold_starts"],
        "Retries": sum(stage["reinvocations"] for stage in stages),
        "LostRunners": record["lost_runners"],
        "QueueS": sum(stage["queue_s"] for stage in stages),
    }
    forecast, took_s = record["forecast"], record["runtime_s"]
    if forecast and record["label"] and took_s > 0:
        values["RunError"] = abs(forecast["runtime_s"] - took_s) / took_s
        values["RunWithin95"] = took_s <= forecast["runtime_p95_s"]
    return {name: float(value) for name, value in values.items()}
