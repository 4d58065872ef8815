"""Ten thousand supersteps: whether the last cost what the first did, and how long the execution's history gets.

It takes minutes, so it runs only when it is named: ``python -m benchmarks supersteps_10000``.
"""

from __future__ import annotations

import os
import statistics
from typing import Any

from benchmarks.cloud import deployed
from benchmarks.report import Row, timed

_SUPERSTEPS = int(os.environ.get("BELLWREN_BENCH_SUPERSTEPS", "10000"))
_PARTITIONS = 2
_TENTH = 10
_MOST_EVENTS = 1000


def run() -> list[Row]:
    """Two partitions that count, write to each other and aggregate."""
    cloud = deployed()

    def step(worker: Any) -> None:
        worker.state += 1 + sum(worker.messages)
        worker.send(1 - worker.partition, 0)
        worker.aggregate("total", worker.state)

    job = cloud.bsp(step, [0] * _PARTITIONS, _SUPERSTEPS, workers=_PARTITIONS, progress=False)
    seconds = timed(job.wait)
    assert job.result() == [_SUPERSTEPS] * _PARTITIONS
    assert job.status()["supersteps"] == _SUPERSTEPS
    history = job.record["history"]
    walls = [one["wall_s"] for one in history]
    tenth = max(1, len(walls) // _TENTH)
    first, last = statistics.median(walls[:tenth]), statistics.median(walls[-tenth:])
    events = _events(cloud, job.id)
    requests = sum(job.record["stages"][0]["requests"].values()) / _SUPERSTEPS
    name = "supersteps_10000"
    return [
        Row(name, f"{_SUPERSTEPS} supersteps of {_PARTITIONS} partitions, submit to result", seconds, "s"),
        Row(name, "a superstep of the first tenth", first, "s"),
        Row(name, "a superstep of the last tenth", last, "s"),
        Row(name, "requests of both workers for each superstep", requests, ""),
        Row(name, "supersteps in the record's history", len(history), "", "≤ 1000", len(history) <= _MOST_EVENTS),
        Row(name, "events of the execution", events, "", f"< {_MOST_EVENTS}", events < _MOST_EVENTS),
        Row(name, "load of the machine at the end", os.getloadavg()[0], ""),
    ]  # fmt: skip


def _events(cloud: Any, job_id: str) -> int:
    import boto3

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    states = boto3.client("stepfunctions", endpoint_url=endpoint, region_name=cloud.deployment.region)
    arn = cloud.executions.find(job_id)["executionArn"]
    pages = states.get_paginator("get_execution_history").paginate(executionArn=arn)
    return sum(len(page["events"]) for page in pages)
