"""A job as its user sees it: how it is doing, what came of it, and how to stop it.

A job lives in storage, not in the client: any process with the same deployment can attach to it by its id, and its end
does not depend on anybody watching.
"""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bellwren import layout
from bellwren.control.status import FINAL, RESUMABLE, now
from bellwren.display import Failures, job_table
from bellwren.errors import BellwrenError, Fault, JobCancelled, JobFailed, SpecError, TaskError, TaskFailure
from bellwren.following import Following
from bellwren.framing import Frame
from bellwren.payload.exceptions import rebuild_exception
from bellwren.progress import watch
from bellwren.results import Arrivals, Results
from bellwren.store import as_json

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

T = TypeVar("T")

_FIRST_POLL_S = 0.05
_LAST_POLL_S = 1.0
_CANCEL_WAIT_S = 8.0
_RESUME_WAIT_S = 60.0
_QUIET_S = 4.0
"""Workers look every two seconds whether they are to stop; so long after the last one was heard, none is running."""
_PARALLEL = 16


class Job:
    """One job of a deployment, running or ended.

    >>> job = cloud.map(lambda x: x * x, range(5))
    >>> job.result()
    [0, 1, 4, 9, 16]
    >>> job.status()["status"], job.done(), job.failures(), job.exception()
    ('SUCCEEDED', True, [], None)
    """

    def __init__(
        self,
        cloud: Cloud,
        job_id: str,
        *,
        name: str = "",
        progress: bool = True,
        document: dict[str, Any] | None = None,
    ) -> None:
        """Attach to a job; ``cloud.job(id)`` checks that there is one."""
        self._document = document
        self._cloud = cloud
        self._store = self.jobs_store = cloud.jobs_store
        self._progress = progress
        self._following = Following(cloud, job_id, name)
        self.id = job_id

    def __repr__(self) -> str:
        return f"<bellwren.Job {self.id} {self.status()['status']}>"

    def _repr_html_(self) -> str:
        """How a notebook shows the job."""
        status = self.status()
        return job_table(status, self.failures() if status["status"] in FINAL else [])

    @property
    def name(self) -> str:
        """What its submitter called it."""
        return str(self.status().get("name") or "")

    def status(self) -> dict[str, Any]:
        """The job's ``status.json`` as it is now: ``status``, ``progress``, ``failures``, ``error`` and more."""
        return self._following.status()

    def done(self) -> bool:
        """Whether the job has ended, one way or another."""
        return self.status()["status"] in FINAL

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended, at most ``timeout`` seconds; returns whether it has. Works in any thread.

        Ctrl-C ends the waiting and not the job, and says how to go on.
        """
        until = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_POLL_S
        with self._interrupted_aloud(), watch(self.id, enabled=self._progress) as show:
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

        >>> cloud.map(lambda x: 1 / x, [1, 0]).result()
        Traceback (most recent call last):
        ...
        bellwren.errors.TaskError: item 1 failed with ZeroDivisionError: division by zero
        ...
        """
        if error := self.exception(timeout):
            raise error from error.__cause__
        return self._results().collect()

    def iter_results(self) -> Iterator[tuple[int, Any]]:
        """Results as they finish, as ``(index, value)``; for ``map_reduce`` the value is ``(key, value)``.

        A failed item that the job tolerates comes as its ``TaskFailure``. Raises as ``result``, after what there is.

        >>> sorted(cloud.map(str.upper, ["a", "b"]).iter_results())
        [(0, 'A'), (1, 'B')]
        """
        yield from self._arriving(Results.values)
        if error := self.exception():
            raise error from error.__cause__

    def arriving_frames(self) -> Iterator[tuple[int, Frame]]:
        """Results as they finish and as they were written, failures with their exceptions; for an executor."""
        return self._arriving(Results.frames)

    def failures(self) -> list[TaskFailure]:
        """The items that failed, in item order (of a job with very many, the first thousand).

        >>> [(one.index, one.type) for one in cloud.map(int, ["1", "x"], tolerate=0.5).failures()]
        [(1, 'ValueError')]
        """
        self.wait()
        keys = [entry.key for entry in self._store.list(layout.errors(self.id))]
        with ThreadPoolExecutor(_PARALLEL) as threads:
            return Failures(_failure(found) for found in threads.map(self._store.get_json, keys))

    def exception(self, timeout: float | None = None) -> Exception | None:
        """The error that ``result`` would raise, or None; waits for the end as ``result`` does.

        Raises:
            TimeoutError: if the job has not ended after ``timeout`` seconds; it goes on.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"job {self.id} has not ended after {timeout:g} s and {self._way_back()}")
        status = self.status()
        error = status.get("error") or {}
        if status["status"] == "SUCCEEDED":
            return None
        if status["status"] == "CANCELLED":
            return JobCancelled(f"job {self.id} was cancelled")
        if status["status"] == "REJECTED":
            return SpecError([Fault(**fault) for fault in error["faults"]])
        if error.get("type") == "TaskError" and status["failures"]:
            return self._task_error(status)
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
        stopped = self._cloud.executions.stop(self.id)
        until = time.monotonic() + _CANCEL_WAIT_S
        workers = self._wait_for_workers(until)
        while self._following.status(doubt_s=1.0, grace_s=2.0)["status"] not in FINAL:
            if time.monotonic() >= until:
                break
            time.sleep(_FIRST_POLL_S * 4)
        what = "its execution was stopped" if stopped else "its execution had ended"
        return f"job {self.id} is {self.status()['status']}: {what}{workers}"

    def resume(self) -> Job:
        """Go on with a job that failed or was cancelled: only what is missing runs, failed items with new tries.

        Returns:
            The job itself, running again.

        Raises:
            BellwrenError: if there is nothing to resume: it runs, succeeded, or was refused.
        """
        before = self.status()
        if before["status"] not in RESUMABLE:
            raise BellwrenError(
                f"job {self.id} is {before['status']}; only a job that is {' or '.join(RESUMABLE)} can be resumed"
            )
        stored = self._store.find_json(layout.status(self.id))
        if stored is None or stored["status"] not in RESUMABLE:
            # Its execution was lost, and nobody has written down that it ended.
            before = {
                "started_at": None,
                "kind": None,
                "algorithm": None,
                "failed": 0,
                **before,
                "finished_at": now(),
            }
            self._store.put(layout.status(self.id), as_json(before))
        execution = self._cloud.executions.resume(self.id)
        until = time.monotonic() + _RESUME_WAIT_S
        while True:
            found = self._store.find_json(layout.status(self.id)) or {}
            if found and found["finished_at"] != before.get("finished_at"):
                self._following = Following(self._cloud, self.id, self.name)
                return self
            if time.monotonic() >= until:
                raise BellwrenError(
                    f"job {self.id} was not taken up again; look at the execution {execution}"
                )
            time.sleep(_FIRST_POLL_S)

    def logs(self) -> dict[int, str]:
        """What user code printed, by task; long output is cut in the middle, and bytes that are no text replaced.

        A task is a group of neighbouring items. What a task printed is there when the task has ended.

        >>> job = cloud.map(print, ["hello"])
        >>> job.wait()
        True
        >>> job.logs()
        {0: 'hello\\n'}
        """
        prefix = layout.logs(self.id)
        keys = [entry.key for entry in self._store.list(prefix)]
        texts: dict[int, str] = {}
        with ThreadPoolExecutor(_PARALLEL) as threads:
            for key, data in zip(keys, threads.map(self._store.get, keys), strict=True):
                task = int(key.rpartition("-")[2].removesuffix(".txt"))
                texts[task] = texts.get(task, "") + data.decode("utf-8", "replace")
        return dict(sorted(texts.items()))

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

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page that explains the job, an HTML file, and return its path.

        Raises:
            BellwrenError: if the job has none: it has not ended, or could not start.
        """
        page = self._store.find(layout.report(self.id))
        if page is None:
            raise BellwrenError(
                f"job {self.id}, which is {self.status()['status']}, has no report; a job gets it when it ends"
            )
        target = Path(path)
        target.write_bytes(page)
        return target

    def _arriving(self, read: Callable[[Results, int, int], list[T]]) -> Iterator[tuple[int, T]]:
        arrivals = Arrivals(read)
        pause = _FIRST_POLL_S
        with self._interrupted_aloud():
            while True:
                ended = self.done()
                came = False
                for index, found in arrivals.fresh(self._results()):
                    came = True
                    yield index, found
                if ended:
                    return
                pause = _FIRST_POLL_S if came else min(pause * 1.2, _LAST_POLL_S)
                time.sleep(pause)

    def spec(self) -> dict[str, Any] | None:
        """The job document, complete, as the job keeps it; None while the job has not begun."""
        if self._document is None:
            self._document = self._store.find_json(layout.spec(self.id))
        return self._document

    @contextmanager
    def _interrupted_aloud(self) -> Iterator[None]:
        """Ctrl-C says that the job goes on, and how to get back to it."""
        try:
            yield
        except KeyboardInterrupt:
            self.say_it_goes_on()
            raise

    def say_it_goes_on(self) -> None:
        """Tell somebody who pressed Ctrl-C that the job was not cancelled, and how to get back to it."""
        print(f"\njob {self.id} was not cancelled and {self._way_back()}", file=sys.stderr)

    def _way_back(self) -> str:
        """How to go on with a job that goes on."""
        connect = self._cloud.connect
        return (
            f"goes on: {connect}.job({self.id!r}) attaches to it again, in any process; .cancel() of that, or "
            f"`bellwren cancel {self.id}`, ends it"
        )

    def _task_error(self, status: dict[str, Any]) -> TaskError:
        told = status["failures"][0]
        told = self._store.find_json(layout.error(self.id, told["stage"], told["index"])) or told
        failure = _failure(told)
        raised = TaskError(failure, failed=status["failed"])
        encoded = told.get("exception")
        raised.__cause__ = (
            rebuild_exception(base64.b64decode(encoded)) if encoded else self._results().exception_of(failure)
        )
        return raised

    def _wait_for_workers(self, until: float) -> str:
        """Wait until the running workers say that they have stopped; what they said, in words."""
        plan = self._store.find_json(layout.plan(self.id)) or {}
        launched = plan.get("launched")
        if not plan.get("stage") or not launched:
            return ""
        prefix = f"{layout.worker_reports(self.id, plan['stage'])}{plan['round']}-"
        ended, heard_at = 0, time.monotonic()
        while ended < launched and time.monotonic() < min(until, heard_at + _QUIET_S):
            time.sleep(_FIRST_POLL_S * 4)
            found = sum(1 for _ in self._store.list(prefix))
            if found > ended:
                ended, heard_at = found, time.monotonic()
        return f", and {ended} of its {launched} worker(s) said that they stopped" if ended else ""

    def _results(self) -> Results:
        plan = self._store.find_json(layout.plan(self.id))
        return Results(self._store, self._cloud.store, self.id, plan)


def _failure(document: dict[str, Any]) -> TaskFailure:
    return TaskFailure(**{name: document[name] for name in ("index", "type", "message", "traceback", "item")})
