"""What one worker invocation says of itself: which tasks it ran, how long each step took, what failed.

Written once, at its end. The planner and ``Finish`` read it for rounds, progress, cost, the execution record and the
job's report.
"""

from __future__ import annotations

import resource
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from bellwren.engine.attempt import Work
from bellwren.engine.progressed import Progressed

SCHEMA = 1


@dataclass
class Report:
    """Collects the facts of one invocation."""

    stage: str
    round: int
    worker: int
    invocation: str
    cold: bool = False
    started_at: float = field(default_factory=time.time)
    stopped: str = ""
    """Why the worker stopped before the work was used up: ``deadline``, ``budget``, ``cancelled``, ``gathering``, or
    ``failed: `` and what it met."""
    tasks: list[dict[str, Any]] = field(default_factory=list)
    longest_task_s: float = 0.0
    durations_s: list[float] = field(default_factory=list)
    _starts: dict[int, float] = field(default_factory=dict)

    def started(self, work: Work) -> None:
        """Note that a runner takes the task up now."""
        self._starts[work.task] = time.time()

    def ended(self, work: Work, done: Progressed, outcome: str, commit_s: float) -> None:
        """Note the end: ``committed``, ``lost`` (another was first), ``piece`` (of several) or ``partial``."""
        self.longest_task_s = max(self.longest_task_s, work.fetch_s + done.compute_s + commit_s)
        self.durations_s.append(done.compute_s)
        self.tasks.append(
            {
                "task": work.task,
                "how": work.how,
                "started_at": self._starts.get(work.task, 0.0),
                "fetch_s": round(work.fetch_s, 6),
                "compute_s": round(done.compute_s, 6),
                "commit_s": round(commit_s, 6),
                "bytes_in": work.bytes_in,
                "items": done.consumed,
                "count": done.count,
                "failed": done.failed,
                "lost_runners": done.lost_runners,
                "peak_mb": done.peak_mb,
                "outcome": outcome,
                "failures": done.failures if outcome == "committed" else [],
            }
        )

    def median_s(self) -> float:
        """What a task took as a rule, in seconds of computing; 0 before the first has ended."""
        return statistics.median(self.durations_s) if self.durations_s else 0.0

    def as_dict(self, requests: dict[str, int]) -> dict[str, Any]:
        """The document that is written."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "schema": SCHEMA,
            "stage": self.stage,
            "round": self.round,
            "worker": self.worker,
            "invocation": self.invocation,
            "cold": self.cold,
            "started_at": self.started_at,
            "finished_at": time.time(),
            "stopped": self.stopped,
            "supervisor_cpu_s": round(own.ru_utime + own.ru_stime, 6),
            "supervisor_peak_mb": own.ru_maxrss // 1024,
            "requests": requests,
            "tasks": self.tasks,
        }
