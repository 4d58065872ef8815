"""What a job costs on AWS: by line after the run, and as a forecast before it.

Prices are data (``bellwren/prices/``), each with its unit and source, dated as a whole. Nothing here rounds: a job of
one item costs some millionths of a dollar, and the lines must add up to the total.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

STEPS_PER_JOB = 12
"""State transitions of a job of one round, apart from its workers: Prepare to the end, each state entered once."""
TRANSITIONS_PER_WORKER = 2
"""A worker is a child execution of one task state."""
AS_PRICED = "us-east-1"
"""The region whose prices stand for those that have no file."""
_PRICED_AS = {
    "lambda_requests": "lambda_request",
    "step_functions": "sfn_transition",
    "s3_puts": "s3_put",
    "s3_gets": "s3_get",
    "events": "event",
}
"""The price of each line but the GB-seconds, whose price is that of the architecture."""
_CONTROL_GB_S = 1.2
_CONTROL_REQUESTS = 6


@dataclass(frozen=True)
class Prices:
    """USD for each unit."""

    lambda_gb_s_arm64: float
    lambda_gb_s_x86_64: float
    lambda_request: float
    sfn_transition: float
    s3_put: float
    s3_get: float
    event: float
    sqs_request: float
    schedule: float
    alarm_month: float
    dashboard_month: float
    metric_month: float
    log_gb: float
    trace: float
    storage_gb_month: float
    key_month: float


@dataclass(frozen=True)
class Usage:
    """What a job used."""

    worker_gb_s: float = 0.0
    """GB-seconds billed for workers: seconds times configured memory, each invocation rounded up to 1 ms."""
    control_gb_s: float = 0.0
    """GB-seconds of the functions around them."""
    lambda_requests: int = 0
    sfn_transitions: int = 0
    s3_puts: int = 0
    """PUT, COPY, POST and LIST requests."""
    s3_gets: int = 0
    events: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


@cache
def prices(region: str = AS_PRICED) -> Prices:
    """List prices of a region, or of us-east-1 where there is no file for it."""
    rows = _price_list(region)["prices"]
    return Prices(**{name: float(row["usd"]) for name, row in rows.items()})


def dated(region: str = AS_PRICED) -> str:
    """The day of the prices, ``yyyy-mm-dd``."""
    return str(_price_list(region)["as_of"])


@cache
def _price_list(region: str) -> dict[str, Any]:
    folder = resources.files("bellwren.prices")
    file = folder / f"{region}.json"
    if not file.is_file():
        file = folder / f"{AS_PRICED}.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def billed_gb_s(memory_mb: int, seconds: float) -> float:
    """GB-seconds of one invocation; Lambda rounds its duration up to the next millisecond."""
    return memory_mb / 1024 * math.ceil(seconds * 1000) / 1000


def lines(usage: Usage, *, region: str = "us-east-1", architecture: str = "arm64") -> dict[str, float]:
    """Cost in USD by line. The sum of the values is the job's cost."""
    price = prices(region)
    worker = price.lambda_gb_s_x86_64 if architecture == "x86_64" else price.lambda_gb_s_arm64
    return {
        "workers": usage.worker_gb_s * worker,
        "control": usage.control_gb_s * worker,
        "lambda_requests": usage.lambda_requests * price.lambda_request,
        "step_functions": usage.sfn_transitions * price.sfn_transition,
        "s3_puts": usage.s3_puts * price.s3_put,
        "s3_gets": usage.s3_gets * price.s3_get,
        "events": usage.events * price.event,
    }


def bill(
    usd: Mapping[str, float], *, region: str = AS_PRICED, architecture: str = "arm64"
) -> list[dict[str, Any]]:
    """The lines of a record's ``cost`` with how much of what each is: ``line, quantity, unit, usd``."""
    rows = _price_list(region)["prices"]
    priced_as = {**_PRICED_AS, **dict.fromkeys(("workers", "control"), f"lambda_gb_s_{architecture}")}
    return [
        {
            "line": line,
            "quantity": paid / float(rows[priced_as[line]]["usd"]),
            "unit": rows[priced_as[line]]["unit"],
            "usd": paid,
        }
        for line, paid in usd.items()
    ]


def estimate(
    workers: int,
    memory_mb: int,
    runtime_s: float,
    *,
    tasks: int = 0,
    region: str = "us-east-1",
    architecture: str = "arm64",
) -> float:
    """Forecast cost in USD of a job that keeps ``workers`` busy for ``runtime_s``.

    An upper estimate: every worker is billed for the whole runtime, and each task costs a claim, an input and an
    output.
    """
    usage = replace(
        around(workers),
        worker_gb_s=workers * billed_gb_s(memory_mb, runtime_s),
        s3_puts=2 * tasks + 2 * workers + 8,
        s3_gets=2 * tasks + 4 * workers + 16,
    )
    return sum(lines(usage, region=region, architecture=architecture).values())


def around(workers: int, *, rounds: int = 1, control_gb_s: float = _CONTROL_GB_S) -> Usage:
    """What a job uses apart from its workers' seconds and requests to S3."""
    return Usage(
        control_gb_s=control_gb_s,
        lambda_requests=_CONTROL_REQUESTS + workers,
        sfn_transitions=STEPS_PER_JOB + 3 * (rounds - 1) + TRANSITIONS_PER_WORKER * workers,
        events=1,
    )
