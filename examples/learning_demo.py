"""The second half of the demonstration: runs become records, records become a model, and forecasts become right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bellwren import Cloud, Job

RUNS = (("0.txt", 1), ("0.txt", 2), ("0.txt", 4), ("", 4))
"""Part of the input (nothing: all of it) and workers of the runs that are learned from."""
_BAR = 40
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Compared:
    """One run, and what was expected of it before it began."""

    what: str
    expected_s: float
    actual_s: float
    source: str

    @property
    def error(self) -> float:
        """Relative to the actual runtime."""
        return abs(self.expected_s - self.actual_s) / self.actual_s


def compared(job: Job) -> Compared:
    """What was expected of a job that has ended, and what came."""
    record: dict[str, Any] = job.record or {}
    forecast: dict[str, Any] = job.forecast or {}
    what = f"{record['bytes'] / 1e6:.0f} MB, {record['workers']} worker(s)"
    return Compared(what, forecast["choice"]["runtime_s"], record["runtime_s"], _source(forecast))


def run(cloud: Cloud, uri: str, workers: int, memory_mb: int) -> Job:
    """Count the words of a part of the input."""
    document = {
        "bellwren": 1,
        "name": "demo learning",
        "algorithm": "wordcount",
        "input": {"lines": uri},
        "workers": workers,
        "memory_mb": memory_mb,
    }
    job = cloud.submit(document, progress=False)
    job.wait()
    return job


def _source(forecast: dict[str, Any]) -> str:
    model = forecast.get("model")
    return f"model {model['version']}" if model else str(forecast.get("source") or "no model")


def learn(cloud: Cloud, first: Job, uri: str) -> tuple[Job, dict[str, Any], Job]:
    """Start as many workers as will be needed, so that all are warm; run the first job again; then some sizes and
    scale-outs; train; and run it once more.

    Returns:
        The job before, what came of the training, and the job after.
    """
    record: dict[str, Any] = first.record or {}
    workers, memory_mb = record["workers"], record["memory_mb"]
    most = max(others for _, others in RUNS)
    cloud.map(time.sleep, [0.5] * most, workers=most, memory_mb=memory_mb, progress=False).wait()
    before = run(cloud, uri, workers, memory_mb)
    for part, others in RUNS:
        run(cloud, uri + part, others, memory_mb)
    found = cloud.models.retrain(wait=True)
    if "wordcount" in found["busy"]:  # the scheduler's own tick was a moment faster
        found = cloud.models.retrain("wordcount", wait=True, timeout_s=_PATIENCE_S)
    outcome: dict[str, Any] = found["outcomes"].get("wordcount", {})
    return before, outcome, run(cloud, uri, workers, memory_mb)


def plot(runs: Sequence[tuple[str, Compared]]) -> list[str]:
    """Bars of expected and actual seconds, and the error in words."""
    longest = max(max(one.expected_s, one.actual_s) for _, one in runs)
    lines = []
    for name, one in runs:
        for label, seconds in (("expected", one.expected_s), ("actual", one.actual_s)):
            bar = "█" * max(1, round(_BAR * seconds / longest))
            lines.append(f"{name if label == 'expected' else '':<7} {label:<9} {seconds:6.2f} s {bar}")
        lines.append(f"{'':<7} error     {one.error:6.0%}   by {one.source}")
    return lines
