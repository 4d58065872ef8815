"""A job's status as the client sees it: from storage, and from the execution itself where storage stays silent.

A job writes its own ``status.json``. If whatever should write it is lost (Prepare never ran, Finish and its last resort
both failed, the execution was stopped before its first state), the status would stay as it is for ever, and so would
whoever waits. So a status that has not changed for a while makes the client ask Step Functions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bellwren import layout
from bellwren.control.status import FINAL

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

Status = dict[str, Any]

_SETTLED = ("SUCCEEDED", "REJECTED")
"""A job that failed or was cancelled may be resumed."""
DOUBT_S = 20.0
"""A status that has not changed for so long is doubted, and the execution asked."""
GRACE_S = 30.0
"""So long after an execution has ended its final status may still be on its way, by an event."""


class Following:
    """Follows one job to its end."""

    def __init__(self, cloud: Cloud, job_id: str, name: str = "") -> None:
        self._cloud = cloud
        self._job_id = job_id
        # Between the start of the execution and its first state there is nothing to read yet.
        self._last: Status = {"job_id": job_id, "name": name, "status": "QUEUED", "progress": {"done": 0}}
        self._changed_at = self._asked_at = time.monotonic()
        self._ended_at: float | None = None
        self._lost = False

    def status(self, *, doubt_s: float = DOUBT_S, grace_s: float = GRACE_S) -> Status:
        """The status as it is now; one that nothing can change any more is not asked for again."""
        if self._last["status"] in _SETTLED or self._lost:
            return self._last
        found = self._cloud.jobs_store.find_json(layout.status(self._job_id))
        if found is not None and (found.get("kind"), found["status"]) == ("bsp", "RUNNING"):
            found |= self._cloud.jobs_store.find_json(layout.going(self._job_id)) or {}
        now = time.monotonic()
        if found is not None and found != self._last:
            self._last, self._changed_at = found, now
        elif self._last["status"] not in FINAL and now - max(self._changed_at, self._asked_at) >= doubt_s:
            self._asked_at = now
            self._ask(now, grace_s)
        return self._last

    def _ask(self, now: float, grace_s: float) -> None:
        execution = self._cloud.executions.find(self._job_id)
        if execution is None or execution["status"] == "RUNNING":
            return
        self._ended_at = self._ended_at or now
        if now - self._ended_at < grace_s:
            return
        self._lost = True
        cancelled = execution["status"] == "ABORTED"
        reason = ": ".join(filter(None, (execution.get("error"), execution.get("cause"))))
        error = {
            "type": "ExecutionLost",
            "message": f"its execution ended as {execution['status']} and left no final status"
            + (f" ({reason})" if reason else "")
            + f"; look at {execution['executionArn']}",
        }
        self._last = {
            **self._last,
            "status": "CANCELLED" if cancelled else "FAILED",
            "failures": [],
            "error": None if cancelled else error,
        }
