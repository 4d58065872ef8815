"""The second half of the demonstration: runs become records, records become a model, and forecasts become right.

The work is a function of one's own, of which nothing is known at first: each item waits for an answer, as it does where
a web service is called. So the time that a run takes is its work's, also on a laptop that has other things to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bellwren import Cloud, Job

ANSWER_S = 0.08
RUNS = ((30, 1), (30, 4), (60, 2), (60, 4), (90, 2), (90, 4))
"""Items and workers of the runs that are learned from."""
HELD_OUT = ((30, 2), (60, 1), (90, 3))
"""Those that are foreseen before and after it, and run at the end: no model has seen them."""
MEMORY_MB = 1769
_BAR = 40
_PATIENCE_S = 120.0


def call_service(item: int) -> int:
    """Wait for an answer."""
    time.sleep(ANSWER_S)
    return item


@dataclass(frozen=True)
class Compared:
    """One run, what was expected of it without a model and with one, and what it took."""

    what: str
    before_s: float
    after_s: float
    actual_s: float


@dataclass(frozen=True)
class Learned:
    """What the demonstration came to."""

    outcome: dict[str, Any]
    """Of the training; empty where it has not ended yet."""
    source: str
    """Who answered in the end."""
    runs: Sequence[Compared]

    def error(self, which: str) -> float:
        """Mean error, relative to the actual runtimes, of the forecasts ``before`` or ``after``."""
        expected = {
            "before": [one.before_s for one in self.runs],
            "after": [one.after_s for one in self.runs],
        }
        pairs = zip(expected[which], self.runs, strict=True)
        return sum(abs(said - one.actual_s) / one.actual_s for said, one in pairs) / len(self.runs)


def learn(cloud: Cloud, algorithm: str) -> Learned:
    """Ask how long some runs will take, make other runs, train, and see who was right.

    ``algorithm`` is the label under which the runs are measured: one that is new begins with nothing.
    """
    before = [_expected(cloud, algorithm, items, workers) for items, workers in HELD_OUT]
    # Starting workers is no part of the work: as many as will be needed are started first.
    most = max(workers for _, workers in RUNS)
    cloud.map(time.sleep, [0.5] * most, workers=most, memory_mb=MEMORY_MB, progress=False).wait()
    for items, workers in RUNS:
        _run(cloud, algorithm, items, workers)
    outcome = _train(cloud, algorithm)
    tested = [_run(cloud, algorithm, items, workers) for items, workers in HELD_OUT]
    runs = [
        Compared(
            f"{items} items, {workers} worker(s)", said, _choice(job)["runtime_s"], _record(job)["runtime_s"]
        )
        for (items, workers), said, job in zip(HELD_OUT, before, tested, strict=True)
    ]
    return Learned(outcome, _source(tested[-1].forecast or {}), runs)


def _expected(cloud: Cloud, algorithm: str, items: int, workers: int) -> float:
    forecast = cloud.forecast(algorithm, items=items, workers=workers, memory_mb=MEMORY_MB)
    return float(forecast.choice["runtime_s"])


def _run(cloud: Cloud, algorithm: str, items: int, workers: int) -> Job:
    job = cloud.map(
        call_service, range(items), algorithm=algorithm, workers=workers, memory_mb=MEMORY_MB, progress=False
    )
    job.result()
    return job


def _train(cloud: Cloud, algorithm: str) -> dict[str, Any]:
    """The tick, which the scheduler makes every hour, now."""
    found = cloud.models.retrain(wait=True)
    if algorithm not in found["started"]:  # the scheduler's own was a moment faster
        found = cloud.models.retrain(algorithm, wait=True, timeout_s=_PATIENCE_S)
    outcome: dict[str, Any] = found["outcomes"].get(algorithm, {})
    return outcome


def _choice(job: Job) -> dict[str, Any]:
    choice: dict[str, Any] = (job.forecast or {})["choice"]
    return choice


def _record(job: Job) -> dict[str, Any]:
    record: dict[str, Any] = job.record or {}
    return record


def _source(forecast: dict[str, Any]) -> str:
    model = forecast.get("model")
    return f"model {model['version']}" if model else str(forecast.get("source") or "no model")


def plot(learned: Learned) -> Iterator[str]:
    """Bars of expected and actual seconds."""
    longest = max(max(one.before_s, one.after_s, one.actual_s) for one in learned.runs)
    for one in learned.runs:
        told = (("expected before", one.before_s), ("expected after", one.after_s), ("took", one.actual_s))
        for row, (label, seconds) in enumerate(told):
            bar = "█" * max(1, round(_BAR * seconds / longest))
            yield f"{one.what if row == 0 else '':<21} {label:<15} {seconds:6.1f} s {bar}"
