"""The life of a worker: claim, fetch, run, commit, until nothing is left or time is up.

Claiming and fetching run ahead of computing by one task for each runner; committing runs behind it. Output is
committed by creating its object (first writer wins), so a retry, a duplicate or a backup cannot change a result.
"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass

from bellwren import layout
from bellwren.control.status import FINAL
from bellwren.engine import sources
from bellwren.engine.attempt import Attempt, OutOfTime, Progressed, Work
from bellwren.engine.capacity import runner_memory_bytes, vcpus
from bellwren.engine.claims import Claims, claim_order, home_run
from bellwren.engine.commit import Committer
from bellwren.engine.crew import Crew, Refused, Runner
from bellwren.engine.idle import Backups
from bellwren.engine.io import Pool
from bellwren.engine.nursery import Progress
from bellwren.engine.report import Report
from bellwren.engine.stage import Stage
from bellwren.errors import InputError

_CANCEL_POLL_S = 2.0
_SHUTDOWN_S = 5.0


@dataclass(frozen=True)
class Assignment:
    """What Step Functions hands to one worker, and the limits of its invocation."""

    job_id: str
    stage: str
    round: int
    worker: int
    invocation: str
    deadline: float
    """Monotonic seconds at which Lambda ends the invocation."""
    memory_mb: int
    jobs_bucket: str


def live(assignment: Assignment, control: socket.socket, progress: Progress) -> None:
    """The supervisor process: its whole life, from fork to exit."""
    asyncio.run(_live(assignment, control, progress))


async def _live(assignment: Assignment, control: socket.socket, progress: Progress) -> None:
    crew = Crew(control, progress, runner_memory_bytes(assignment.memory_mb))
    io = Pool(assignment.jobs_bucket)
    try:
        if not await _has_ended(io, assignment.job_id):
            await Supervisor(assignment, crew, io).run()
    except Exception as error:
        # The job may have ended, and its working keys gone, while a duplicate or a backup was still at work.
        if not await _has_ended(io, assignment.job_id):
            crew.answer({"lost": "; ".join(_told(error))[:2000]})
            raise
    finally:
        crew.kill_all("end")
    crew.answer({})


async def _has_ended(io: Pool, job_id: str) -> bool:
    return (await io.jobs_json(layout.status(job_id)))["status"] in FINAL


def _told(error: BaseException) -> list[str]:
    """An error, or the errors of a group, in a line each."""
    if isinstance(error, BaseExceptionGroup):
        return [line for one in error.exceptions for line in _told(one)]
    return [f"{type(error).__name__}: {error}"]


class Supervisor:
    """One worker's invocation."""

    def __init__(self, assignment: Assignment, crew: Crew, io: Pool) -> None:
        self._a = assignment
        self._crew = crew
        self._io = io
        self._stop = asyncio.Event()
        self._report = Report(assignment.stage, assignment.round, assignment.worker, assignment.invocation)

    async def run(self) -> None:
        """Work until nothing is left to claim, then report."""
        plan = await self._io.jobs_json(layout.plan(self._a.job_id))
        self._stage = Stage.from_dict(plan["stages"][self._a.stage])
        self._workers: int = plan["launched"]
        watch = asyncio.create_task(self._watch())
        try:
            await self._work()
        except* Refused as refused:
            await self._io.put_json(layout.fatal(self._a.job_id), _first(refused).failure)
        finally:
            watch.cancel()
            key = layout.worker_report(
                self._a.job_id, self._a.stage, self._a.round, self._a.worker, self._a.invocation
            )
            await self._io.put_json(key, self._report.as_dict(self._io.requests))

    async def _work(self) -> None:
        self._claims = Claims(
            self._io.jobs, self._a.job_id, self._a.stage, self._a.round, self._a.worker, self._a.invocation
        )
        self._commit = Committer(self._io, self._a.job_id, self._stage, self._report)
        self._source, self._code = await asyncio.gather(
            sources.open_source(self._io, self._a.job_id, self._stage),
            sources.load_code(self._io, self._stage),
        )
        self._ready: asyncio.Queue[Work | None] = asyncio.Queue(maxsize=1)
        slots = range(vcpus(self._a.memory_mb))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed(len(slots)))
            for slot in slots:
                group.create_task(self._drive(slot))
        await self._commit.finish()

    async def _feed(self, slots: int) -> None:
        """Claim tasks and fetch their input, a step ahead of the runners; a None for each slot is the end."""
        # In the first round nothing is done before it is claimed; later rounds run what earlier ones left.
        passed = await self._commit.done() if self._a.round else set()
        for task in claim_order(self._a.worker, self._workers, self._stage.tasks):
            if self._closing():
                break
            if task in passed:
                continue
            if how := await self._io.call(self._claims.take, task):
                await self._offer(task, how)
            else:
                passed |= await self._io.call(self._claims.taken)
        backups = Backups(
            self._claims, self._commit, self._report, tasks=self._stage.tasks, workers=self._workers
        )
        while found := await backups.next(self._closing):
            await self._offer(*found)
        for _ in range(slots):
            await self._ready.put(None)

    async def _offer(self, task: int, how: str) -> None:
        if how == "retake" and await self._commit.exists(task):
            return
        if how == "claim":
            how = "home" if task in home_run(self._a.worker, self._workers, self._stage.tasks) else "steal"
        began = time.monotonic()
        try:
            work = await self._source.load(task)
        except InputError as error:
            raise Refused({"type": "InputError", "message": str(error)}) from error
        work.fetch_s = time.monotonic() - began
        self._report.claimed(task, how)
        await self._ready.put(work)

    async def _drive(self, slot: int) -> None:
        """Run tasks on one runner after the other in this slot."""
        while (work := await self._ready.get()) is not None:
            if self._stop.is_set():
                continue
            done = await self._commit.resume(work.task) if self._a.round else Progressed()
            self._report.started(work)
            try:
                log = await Attempt(self._crew, self._stage, self._start).run(slot, work, done)
            except OutOfTime:
                await self._commit.keep_partial(work, done)
            else:
                await self._commit.submit(work, done, log)

    async def _start(self, slot: int) -> Runner:
        setup = {
            "job_id": self._a.job_id,
            "stage": self._stage.as_dict(),
            "code": [(sha256, len(data)) for sha256, data in self._code.items()],
        }
        return await self._crew.start(slot, setup, b"".join(self._code.values()))

    def _closing(self) -> bool:
        """Whether to stop claiming: cancelled, or a further task like the longest so far would not fit."""
        left = self._a.deadline - time.monotonic() - _SHUTDOWN_S
        return self._stop.is_set() or left < 1.5 * self._report.longest_task_s

    async def _watch(self) -> None:
        """Stop on cancel, and end the runners when the invocation's time is up."""
        key = layout.cancel(self._a.job_id)
        while True:
            left = self._a.deadline - time.monotonic() - _SHUTDOWN_S
            await asyncio.sleep(max(0.0, min(_CANCEL_POLL_S, left)))
            out_of_time = time.monotonic() >= self._a.deadline - _SHUTDOWN_S
            if out_of_time or await self._io.exists(self._io.jobs.bucket, key):
                self._report.stopped = "deadline" if out_of_time else "cancelled"
                self._stop.set()
                self._crew.kill_all("deadline")
                return


def _first(group: BaseExceptionGroup[Refused]) -> Refused:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
