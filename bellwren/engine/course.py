"""The course of one task on one worker: what is there of it already, what is run, and what becomes of the result."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable

from bellwren.engine.attempt import Attempt, OutOfTime, Outrun, Work
from bellwren.engine.claims import Claims
from bellwren.engine.commit import Committer
from bellwren.engine.crew import Crew, Runner
from bellwren.engine.gate import Gate
from bellwren.engine.pieces import Pieces
from bellwren.engine.progressed import Progressed, chain
from bellwren.engine.report import Report
from bellwren.engine.stage import Stage
from bellwren.engine.trail import Trail

OF_THE_ITEM = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(MemoryError, TypeError, ValueError, struct.error),
)
"""What this process meets only if a runner's answer is none of ours: the item that was tried then is suspected. A store
that does not answer, or a worker that is stopped, is no item's doing."""


class Course:
    """Takes tasks from claim to commit."""

    def __init__(
        self,
        *,
        stage: Stage,
        crew: Crew,
        start: Callable[[int], Awaitable[Runner]],
        claims: Claims,
        committer: Committer,
        report: Report,
    ) -> None:
        self._stage = stage
        self._crew = crew
        self._start = start
        self._claims = claims
        self._commit = committer
        self._report = report
        self._gate = Gate()
        self._pieces = Pieces(committer.io, claims.job_id, stage)

    async def follow(self, slot: int, work: Work, *, budget_s: float, stopping: Callable[[], bool]) -> None:
        """Run the task to its end, or as far as this worker gets.

        ``budget_s`` is what the whole invocation may take; ``stopping`` says whether its time is up.
        """
        trail = Trail(self._commit.io, self._claims, self._stage.retries, work.task, work.start)
        done = Progressed(start=work.start, consumed=work.start)
        later: list[Progressed] = []
        if work.look_up:
            done, later = chain(await self._pieces.load(work.task), work.start)
            await trail.open(retaken=work.how == "retake")
            if trail.alive_elsewhere:
                return
        async with self._gate.passing(alone=trail.careful):
            try:
                await self._run(slot, work, done=done, later=later, trail=trail, stopping=stopping)
            except OutOfTime as out:
                if out.position >= 0 and self._report.stopped == "deadline":
                    await trail.cut(out.position, out.ran_s / budget_s)
                await self._keep(work, done, "partial")
            except Outrun:
                self._report.ended(work, done, "lost", 0.0)
            except OF_THE_ITEM:
                await trail.leave()
                raise
            finally:
                await trail.close()

    async def _run(
        self,
        slot: int,
        work: Work,
        *,
        done: Progressed,
        later: list[Progressed],
        trail: Trail,
        stopping: Callable[[], bool],
    ) -> None:
        attempt = Attempt(self._crew, self._stage, self._start, trail)
        while not done.complete:
            later = [piece for piece in later if piece.start >= done.consumed]
            if later and later[0].start == done.consumed:
                done.absorb(later.pop(0))
                continue
            self._crew.progress.ask_pause(slot, stopping())
            ends = [piece.start for piece in later[:1]] + [
                stop for stop in work.stops if stop > done.consumed
            ]
            paused = await attempt.run(slot, work, done, min(ends, default=None))
            if not paused:
                done.complete = True
            elif later and later[0].start == done.consumed:
                continue
            elif stopping():
                await self._keep(work, done, "partial")
                return
            elif not await self._commit.io.call(self._claims.take_rest, work.task, done.consumed):
                break
        if done.complete and not done.start:
            await self._commit.submit(work, done)
        else:
            await self._keep(work, done, "piece")
            await self._join(work)

    async def _join(self, work: Work) -> None:
        """Commit the task if all of its pieces are there: whoever wrote the last one sees them all."""
        whole, _ = chain(await self._pieces.load(work.task))
        if whole.complete:
            await self._commit.submit(work, whole)

    async def _keep(self, work: Work, done: Progressed, outcome: str) -> None:
        self._report.ended(work, done, outcome, 0.0)
        await self._pieces.keep(work.task, done)
