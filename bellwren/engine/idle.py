"""What a worker does when nothing is left to claim: take what others offer, take back its own, back up stragglers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from bellwren.engine.claims import Board, Claim, Claims, backup_due
from bellwren.engine.commit import Committer
from bellwren.engine.report import Report

_POLL_S = 0.25
_LONGEST_POLL_S = 1.0
_BUSY_POLL_S = 0.05
WAIT_MEDIANS = 4.0
_LISTS_AT_ONCE = 4000
"""Requests of all that look, for one look each. S3 answers 5,500 a second for a prefix, and outputs lie below one."""
_KEYS_IN_A_LIST = 1000
_PATIENCE_S = 1.0
"""Before anything is backed up: whoever is at a slow item offers what waits behind it, which is better work."""
WAIT_S = 2.0
"""Long enough for a slow item that began just now to be seen as one, and for what waits behind it to be offered."""


def lists_of_a_look(tasks: int) -> int:
    """Requests that show all outputs and all claims of a stage, a thousand of each in an answer."""
    return 2 * math.ceil(tasks / _KEYS_IN_A_LIST)


def looks(worker: int, workers: int, tasks: int) -> bool:
    """Whether a worker looks for what others have not done, once nothing is left to claim.

    All do, until their looks together are more requests than S3 answers and than a few stragglers are worth: then as
    many of them, evenly spread, as stay below.
    """
    return worker % math.ceil(workers * lists_of_a_look(tasks) / _LISTS_AT_ONCE) == 0


def poll_s(workers: int, tasks: int) -> float:
    """The pause between two looks: the longer, the more requests all looks together are."""
    share = 4 * min(1.0, workers * lists_of_a_look(tasks) / _LISTS_AT_ONCE)
    return min(_LONGEST_POLL_S, max(_POLL_S, share * _POLL_S))


@dataclass(frozen=True)
class Found:
    """A task to run, or the rest of one."""

    task: int
    how: str
    """``retake``, ``claim``, ``backup`` or ``share``."""
    start: int = 0
    stops: tuple[int, ...] = ()
    """Positions further on that were offered too."""


class Idle:
    """Looks for tasks that are claimed but not done."""

    def __init__(
        self,
        claims: Claims,
        committer: Committer,
        report: Report,
        *,
        tasks: int,
        workers: int,
        at_work: Callable[[], set[int]],
    ) -> None:
        """``at_work`` says which tasks this very invocation is at."""
        self._claims = claims
        self._committer = committer
        self._report = report
        self._tasks = tasks
        self._workers = workers
        self._at_work = at_work
        self._holders: dict[int, Claim | None] = {}
        self._rest_holders: dict[tuple[int, int], Claim | None] = {}
        self._tried: set[tuple[int, int]] = set()
        self._backed_up: set[int] = set()

    async def next(self, closing: Callable[[], bool], free: Callable[[], bool]) -> Found | None:
        """The next task to run, or None when there is no more to do.

        Nothing is looked for while no slot is ``free`` to run it. Waiting costs money too: of the idle workers only as
        many wait as there are tasks open, and none longer than it takes for a slow item to show and for the straggler
        rule to decide.
        """
        began = time.monotonic()
        until = began + max(WAIT_S, WAIT_MEDIANS * self._report.median_s())
        while not closing():
            if not free():
                await asyncio.sleep(_BUSY_POLL_S)
                continue
            io = self._committer.io
            done, board = await asyncio.gather(self._committer.done(), io.call(self._claims.board))
            open_tasks = set(range(self._tasks)) - done
            patient = time.monotonic() - began < _PATIENCE_S
            if found := await self._find(open_tasks, board, patient=patient):
                return found
            others = open_tasks - self._at_work() - self._committer.committing
            if not others or not self._waits(others) or time.monotonic() >= until:
                return None
            await asyncio.sleep(poll_s(self._workers, self._tasks))
        return None

    async def _find(self, open_tasks: set[int], board: Board, *, patient: bool) -> Found | None:
        for task, start in sorted(board.offers):
            if task in open_tasks and (task, start) not in self._tried:
                if (task, start) in board.rests and not self._was_mine(await self._rest_holder(task, start)):
                    continue
                self._tried.add((task, start))
                if how := await self._committer.io.call(self._claims.take_rest, task, start):
                    stops = tuple(other for one, other in board.offers if one == task and other > start)
                    return Found(task, "share" if how == "claim" else how, start, stops)
        for task in sorted(open_tasks - self._backed_up):
            if how := await self._reason(task, board, patient=patient):
                self._backed_up.add(task)
                return Found(task, how)
        return None

    async def _rest_holder(self, task: int, start: int) -> Claim | None:
        if (task, start) not in self._rest_holders:
            self._rest_holders[task, start] = await self._committer.io.call(self._claims.read, task, start)
        return self._rest_holders[task, start]

    def _was_mine(self, holder: Claim | None) -> bool:
        """Whether an earlier life of this worker had it."""
        return (
            holder is not None
            and holder.worker == self._claims.worker
            and holder.invocation != self._claims.invocation
        )

    async def _reason(self, task: int, board: Board, *, patient: bool) -> str:
        io = self._committer.io
        if task not in self._holders:
            self._holders[task] = await io.call(self._claims.read, task)
        holder = self._holders[task]
        if holder is None:
            del self._holders[task]
            return await io.call(self._claims.take, task)
        if task in self._at_work() or task in self._committer.committing:
            return ""
        if self._was_mine(holder):
            return "retake"
        if patient:
            return ""
        rests = [await self._rest_holder(one, start) for one, start in board.rests if one == task]
        since = max(one.at for one in (holder, *rests) if one is not None)
        due = backup_due(time.time() - since, self._report.durations_s)
        taken = await io.call(self._claims.take_backup, task) if due else ""
        return "backup" if taken else ""

    def _waits(self, others: set[int]) -> bool:
        return (self._claims.worker - min(others)) % self._workers < 2 * len(others)
