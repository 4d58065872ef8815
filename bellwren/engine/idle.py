"""What a worker does when nothing is left to claim: take back what is its own, and back up stragglers."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

from bellwren.engine.claims import Claim, Claims, backup_due
from bellwren.engine.commit import Committer
from bellwren.engine.report import Report

_POLL_S = 0.25
_WAIT_MEDIANS = 4.0


class Backups:
    """Looks for tasks that are claimed but not done."""

    def __init__(
        self, claims: Claims, committer: Committer, report: Report, *, tasks: int, workers: int
    ) -> None:
        self._claims = claims
        self._committer = committer
        self._report = report
        self._tasks = tasks
        self._workers = workers
        self._holders: dict[int, Claim | None] = {}
        self._tried: set[int] = set()

    async def next(self, closing: Callable[[], bool]) -> tuple[int, str] | None:
        """The next task to run and why (``retake``, ``claim`` or ``backup``), or None when there is no more to do.

        Waiting costs money too: of the idle workers only as many wait as there are tasks open, and none longer than
        it takes for the straggler rule to decide.
        """
        until = time.monotonic() + _WAIT_MEDIANS * self._median_s()
        while not closing():
            open_tasks = set(range(self._tasks)) - await self._committer.done() - self._tried
            for task in sorted(open_tasks):
                if how := await self._reason(task):
                    self._tried.add(task)
                    return task, how
            others = [task for task in open_tasks if not self._is_own(task)]
            if not others or not self._waits(others) or time.monotonic() >= until:
                return None
            await asyncio.sleep(_POLL_S)
        return None

    async def _reason(self, task: int) -> str:
        io = self._committer.io
        if task not in self._holders:
            self._holders[task] = await io.call(self._claims.read, task)
        holder = self._holders[task]
        if holder is None:
            return "claim" if await io.call(self._claims.take, task) else ""
        if holder.worker == self._claims.worker:
            return "" if self._is_own(task) else "retake"
        if backup_due(time.time() - holder.at, self._report.durations_s) and await io.call(
            self._claims.take_backup, task
        ):
            return "backup"
        return ""

    def _is_own(self, task: int) -> bool:
        """Whether this very invocation is at the task, or is committing it."""
        holder = self._holders.get(task)
        return holder is not None and holder.invocation == self._claims.invocation

    def _waits(self, others: list[int]) -> bool:
        if len(self._report.durations_s) < 3:
            return False
        return (self._claims.worker - min(others)) % self._workers < 2 * len(others)

    def _median_s(self) -> float:
        return statistics.median(self._report.durations_s) if self._report.durations_s else 0.0
