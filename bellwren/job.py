"""A job as its user sees it: how it is doing, what came of it, and how to stop it.

A job lives in storage, not in the client: any process with the same deployment can attach to it by its id, and its end
does not depend on anybody watching.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bellwren import layout
from bellwren.control.status import FINAL
from bellwren.errors import Fault as _Fault
from bellwren.errors import JobCancelled, JobFailed, SpecError, TaskError, TaskFailure
from bellwren.progress import watch
from bellwren.results import Results
from bellwren.store import as_json

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

_FIRST_POLL_S = 0.05
_LAST_POLL_S = 1.0
_CANCEL_WAIT_S = 10.0


class Job:
    """One job of a deployment, running or ended."""

    def __init__(self, cloud: Cloud, job_id: str, *, progress: bool = True) -> None:
        """Attach to a job; ``cloud.job(id)`` checks that there is one."""
        self._cloud = cloud
        self._store = cloud.jobs_store
        self._progress = progress
        self._status: dict[str, Any] | None = None
        self.id = job_id

    def __repr__(self) -> str:
        return f"<bellwren.Job {self.id} {self.status()['status']}>"

    @property
    def name(self) -> str:
        """What its submitter called it."""
        return str(self.status()["name"])

    def status(self) -> dict[str, Any]:
        """The job's ``status.json`` as it is now."""
        if self._status is None or self._status["status"] not in FINAL:
            found = self._store.find_json(layout.status(self.id))
            # Between the start of the execution and its first state there is nothing to read yet.
            self._status = found or {
                "job_id": self.id,
                "name": "",
                "status": "QUEUED",
                "progress": {"done": 0},
            }
        return self._status

    def done(self) -> bool:
        """Whether the job has ended, one way or another."""
        return self.status()["status"] in FINAL

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended, at most ``timeout`` seconds; returns whether it has."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_POLL_S
        with watch(self.id, enabled=self._progress) as show:
            while True:
                status = self.status()
                show(status)
                if status["status"] in FINAL:
                    return True
                left = pause if until is None else min(pause, until - time.monotonic())
                if left <= 0:
                    return False
                time.sleep(left)
                pause = min(pause * 1.2, _LAST_POLL_S)

    def result(self, timeout: float | None = None) -> Any:
        """The result: a list in item order for ``map``, a dict for ``map_reduce``.

        Raises:
            TimeoutError: if the job has not ended after ``timeout`` seconds; it goes on.
            TaskError: if more items failed than the job tolerates; ``__cause__`` is the first one's exception.
            JobFailed: if the job could not run; the message says why.
            JobCancelled: if it was cancelled.
            SpecError: if its document was refused.
        """
        if not self.wait(timeout):
            raise TimeoutError(
                f"job {self.id} has not ended after {timeout:g} s; it goes on: "
                f"bellwren.connect().job({self.id!r}) attaches to it again, and .cancel() ends it"
            )
        if error := self.exception():
            raise error from error.__cause__
        return self._results().collect()

    def iter_results(self) -> Iterator[tuple[int, Any]]:
        """Results as they finish, as ``(index, value)``; for ``map_reduce`` ``index`` counts keys.

        Raises as ``result`` at the end of what there is.
        """
        seen: set[int] = set()
        pause = _FIRST_POLL_S
        while True:
            ended = self.done()
            fresh = self._results().parts_there() - seen
            for part in sorted(fresh):
                yield from self._results().numbered(part)
            seen |= fresh
            if ended:
                break
            pause = _FIRST_POLL_S if fresh else min(pause * 1.2, _LAST_POLL_S)
            time.sleep(pause)
        if error := self.exception():
            raise error from error.__cause__

    def failures(self) -> list[TaskFailure]:
        """The items that failed, in item order (of a job with very many, the first thousand)."""
        keys = [entry.key for entry in self._store.list(layout.errors(self.id))]
        return [TaskFailure(**self._store.get_json(key)) for key in keys]

    def exception(self) -> Exception | None:
        """The error that ``result`` would raise, or None; waits for the end as ``result`` does."""
        self.wait()
        status = self.status()
        error = status.get("error") or {}
        if status["status"] == "SUCCEEDED":
            return None
        if status["status"] == "CANCELLED":
            return JobCancelled(f"job {self.id} was cancelled")
        if status["status"] == "REJECTED":
            return SpecError([_Fault(**fault) for fault in error["faults"]])
        if error.get("type") == "TaskError" and status["failures"]:
            failure = TaskFailure(**status["failures"][0])
            raised = TaskError(failure, failed=status["failed"])
            raised.__cause__ = self._results().exception_of(failure)
            return raised
        details = f"\n{error['traceback']}" if error.get("traceback") else ""
        return JobFailed(f"job {self.id} failed: {error.get('type')}: {error.get('message')}{details}")

    def cancel(self) -> str:
        """Stop the job: no worker starts on anything further, and those running stop within seconds.

        Returns:
            What was done, in words.
        """
        if self.done():
            return f"job {self.id} had ended already: {self.status()['status']}"
        self._store.put(layout.cancel(self.id), as_json({"at": time.time()}))
        stopped = self._cloud.stop_execution(self.id)
        until = time.monotonic() + _CANCEL_WAIT_S
        while not self.done() and time.monotonic() < until:
            time.sleep(_FIRST_POLL_S * 4)
        what = "its execution was stopped" if stopped else "its execution had ended"
        return f"job {self.id} is {self.status()['status']}: {what}, and its workers were told to stop"

    def logs(self) -> dict[int, str]:
        """What user code printed, by task; long output is cut in the middle, and bytes that are no text replaced."""
        prefix = layout.logs(self.id)
        texts: dict[int, str] = {}
        for entry in self._store.list(prefix):
            task = int(entry.key.rpartition("-")[2].removesuffix(".txt"))
            texts[task] = texts.get(task, "") + self._store.get(entry.key).decode("utf-8", "replace")
        return texts

    @property
    def forecast(self) -> dict[str, Any] | None:
        """What the model expected before the job ran, and what it chose; None if there was no forecast."""
        found: dict[str, Any] | None = self._store.find_json(layout.forecast(self.id))
        return found

    @property
    def record(self) -> dict[str, Any] | None:
        """The execution record, once the job has ended."""
        found: dict[str, Any] | None = self._store.find_json(layout.record(self.id))
        return found

    @property
    def cost_usd(self) -> float | None:
        """What the job cost on AWS (or, on the local cloud, would have cost), once it has ended."""
        cost = self.status().get("cost_usd")
        return None if cost is None else float(cost)

    def _results(self) -> Results:
        plan = self._store.find_json(layout.plan(self.id))
        return Results(self._store, self._cloud.store, self.id, plan)
