"""The life of a worker: claim, fetch, run, commit, until nothing is left or time is up.

Claiming and fetching run ahead of computing by one task for each runner; committing runs behind it. Output is
committed by creating its object (first writer wins), so a retry, a duplicate or a backup cannot change a result.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from bellwren import layout
from bellwren.buffers import keep_large_blocks
from bellwren.control.status import FINAL
from bellwren.engine import bundles, outrun, sources
from bellwren.engine.capacity import results_bytes, runner_memory_bytes, vcpus
from bellwren.engine.claims import Claims, claim_order, home_run, leftover_order
from bellwren.engine.commit import Committer
from bellwren.engine.course import Course
from bellwren.engine.crew import Crew, LoadingLost, Refused, Runner
from bellwren.engine.idle import Found, Idle, looks
from bellwren.engine.io import Pool
from bellwren.engine.nursery import Progress
from bellwren.engine.report import Report
from bellwren.engine.sharing import Sharing
from bellwren.engine.stage import Stage
from bellwren.errors import InputError

Failed = TypeVar("Failed", bound=BaseException)

_LONGEST_ERROR = 500
_CANCEL_POLL_S = 2.0
_POLLING_WORKERS = 1000
"""As many may look for a cancellation so often; more look more seldom, since all of them ask for the same two keys."""
_SHUTDOWN_S = 5.0
"""What a worker needs at its end to write down what it has."""
_SHUTDOWN_SHARE = 0.15
_PAUSE_S = 5.0
"""How long before that its runners stop at the next item, instead of being cut off within one."""
_PAUSE_SHARE = 0.1


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
    cold: bool
    """Whether this is the first invocation of its environment, which had to start for it."""


def live(assignment: Assignment, control: socket.socket, progress: Progress) -> None:
    """The supervisor process: its whole life, from fork to exit."""
    keep_large_blocks()
    asyncio.run(_live(assignment, control, progress))


async def _live(assignment: Assignment, control: socket.socket, progress: Progress) -> None:
    memory_mb = assignment.memory_mb
    crew = Crew(control, progress, runner_memory_bytes(memory_mb), results_bytes(memory_mb))
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
        self._began = time.monotonic()
        self._stop = asyncio.Event()
        self._free = 0
        a = assignment
        self._report = Report(a.stage, a.round, a.worker, a.invocation, cold=a.cold)

    async def run(self) -> None:
        """Work until nothing is left to claim, then report."""
        plan = await self._io.jobs_json(layout.plan(self._a.job_id))
        self._stage = Stage.from_dict(plan["stages"][self._a.stage])
        self._workers: int = plan["launched"]
        self._set_end(plan.get("limit_s"))
        watch = asyncio.create_task(self._watch())
        try:
            await self._work()
        except* Refused as refused:
            await self._io.put_json(layout.fatal(self._a.job_id), _first(refused).failure)
        except* Exception as failed:
            error = _first(failed)
            self._report.stopped = f"failed: {type(error).__name__}: {error}"[:_LONGEST_ERROR]
            raise
        finally:
            watch.cancel()
            key = layout.worker_report(
                self._a.job_id, self._a.stage, self._a.round, self._a.worker, self._a.invocation
            )
            await self._io.put_json(key, self._report.as_dict(self._io.requests))

    def _set_end(self, limit_s: float | None) -> None:
        """When runners are to pause, and when they are cut off: before Lambda's end, or where the budget is used up."""
        left_s = self._a.deadline - self._began
        end_s = left_s - min(_SHUTDOWN_S, left_s * _SHUTDOWN_SHARE)
        self._reason = "deadline"
        if limit_s is not None and limit_s < end_s:
            end_s, self._reason = limit_s, "budget"
        self._budget_s = max(end_s, 0.001)
        self._end = self._began + end_s
        self._pause = self._end - min(_PAUSE_S, end_s * _PAUSE_SHARE)

    async def _work(self) -> None:
        a = self._a
        tasks = self._stage.tasks
        self._claims = Claims(self._io.jobs, a.job_id, a.stage, a.round, a.worker, a.invocation, tasks)
        self._commit = Committer(self._io, a.job_id, self._stage, self._report)
        self._source, self._code, self._packages = await asyncio.gather(
            sources.open_source(self._io, a.job_id, self._stage, a.memory_mb),
            sources.load_code(self._io, self._stage),
            bundles.provide(self._io, self._stage.bundle),
        )
        if self._stage.operation == "supersteps":
            await self._stay()
            return
        self._sharing = Sharing(
            self._io,
            self._claims,
            self._stage,
            self._crew.progress,
            workers=self._workers,
            pace_s=self._report.median_s,
        )
        self._course = Course(
            stage=self._stage,
            crew=self._crew,
            start=self._start,
            claims=self._claims,
            committer=self._commit,
            report=self._report,
        )
        slots = range(vcpus(a.memory_mb))
        async with asyncio.TaskGroup() as group:
            watches = [
                group.create_task(self._sharing.watch(len(slots))),
                group.create_task(outrun.watch(self._sharing, self._commit, self._crew)),
            ]
            lives = [group.create_task(self._feed(len(slots)))]
            lives += [group.create_task(self._drive(slot)) for slot in slots]
            await asyncio.wait(lives)
            for watch in watches:
                watch.cancel()
        await self._commit.finish()

    async def _stay(self) -> None:
        """Hold partitions and run their supersteps."""
        from bellwren.engine.supersteps.worker import ResidentWorker  # noqa: PLC0415  other jobs need none of it

        await ResidentWorker(
            job_id=self._a.job_id,
            round_=self._a.round,
            worker=self._a.worker,
            workers=self._workers,
            stage=self._stage,
            io=self._io,
            crew=self._crew,
            slots=vcpus(self._a.memory_mb),
            start=self._start,
            source=self._source,
            stop=self._stop,
            report=self._report,
        ).run()

    async def _feed(self, slots: int) -> None:
        """Claim tasks and fetch their input, a step ahead of the runners; a None for each slot is the end."""
        passed: set[int] = set()
        order = await self._survey()
        own, looking = 0, looks(self._a.worker, self._workers, self._stage.tasks)
        for task in order:
            if self._closing():
                break
            if task in passed:
                continue
            if how := await self._io.call(self._claims.take, task):
                own += how == "claim"
                # Started again, it takes back all that an earlier life had.
                looking = looking or how == "retake"
                await self._offer(Found(task, how))
            else:
                passed |= await self._io.call(self._claims.taken_beside, task)
        idle = Idle(
            self._claims,
            self._commit,
            self._report,
            tasks=self._stage.tasks,
            workers=self._workers,
            at_work=lambda: {work.task for work in self._sharing.running.values()},
        )
        looking = looking and own < self._stage.tasks
        if not looking:
            # Who has claimed everything alone has nobody to wait for, and of very many workers most leave that to
            # others, unless some of their own is given away later.
            await self._sharing.settled()
        while looking or self._sharing.has_offered:
            found = await idle.next(self._closing, self._has_room)
            if found is None:
                break
            await self._offer(found)
        for _ in range(slots):
            await self._sharing.queue.put(None)

    def _has_room(self) -> bool:
        """Whether a slot is free that nothing is on its way to: what is taken up from others must begin at once."""
        return self._free > self._sharing.queue.qsize() and not self._sharing.offering

    async def _survey(self) -> Iterable[int]:
        """The order in which to claim tasks."""
        worker, workers, tasks = self._a.worker, self._workers, self._stage.tasks
        self._begun: set[int] = set()
        if not self._a.round:
            # In the first round nothing is done before it is claimed; later rounds run what earlier ones left.
            self._home = set(home_run(worker, workers, tasks))
            return claim_order(worker, workers, tasks)
        left = await self._io.jobs_json(layout.left(self._a.job_id, self._a.stage, self._a.round))
        self._begun = set(left["begun"])
        order = left["begun"] + left["others"]
        self._home = set(order[worker::workers])
        return leftover_order(worker, workers, order)

    async def _offer(self, found: Found) -> None:
        task, how = found.task, found.how
        if how == "retake" and await self._commit.exists(task):
            return
        began = time.monotonic()
        try:
            work = await self._source.load(task)
        except InputError as error:
            raise Refused.input(error) from error
        work.fetch_s = time.monotonic() - began
        work.start, work.stops = found.start, list(found.stops)
        work.look_up = how in ("retake", "backup") or task in self._begun
        work.how = how if how != "claim" else "home" if task in self._home else "steal"
        await self._sharing.queue.put(work)

    async def _drive(self, slot: int) -> None:
        """Run tasks on one runner after the other in this slot."""
        while True:
            self._free += 1
            work = await self._sharing.queue.get()
            self._free -= 1
            if work is None:
                return
            if self._stop.is_set():
                self._sharing.changed.set()
                continue
            self._report.started(work)
            self._sharing.running[slot] = work
            await self._course.follow(slot, work, budget_s=self._budget_s, stopping=self._stop.is_set)
            del self._sharing.running[slot]
            self._sharing.changed.set()

    async def _start(self, slot: int) -> Runner:
        setup = {
            "job_id": self._a.job_id,
            "stage": self._stage.as_dict(),
            "packages": self._packages,
            "code": [(sha256, len(data)) for sha256, data in self._code.items()],
        }
        code = b"".join(self._code.values())
        for _ in range(self._stage.retries):
            with contextlib.suppress(LoadingLost):
                return await self._crew.start(slot, setup, code)
        return await self._crew.start(slot, setup, code)

    def _closing(self) -> bool:
        """Whether to stop claiming: cancelled, or a further task like the longest so far would not fit."""
        return self._stop.is_set() or self._end - time.monotonic() < 1.5 * self._report.longest_task_s

    async def _watch(self) -> None:
        """Stop on cancel, and pause the runners, then end them, when the invocation's time is up."""
        key = layout.cancel(self._a.job_id)
        while (left := self._pause - time.monotonic()) > 0:
            await asyncio.sleep(min(cancel_poll_s(self._workers), left))
            # Finish takes the mark away once the job has ended.
            if await self._io.exists(self._io.jobs.bucket, key) or await _has_ended(self._io, self._a.job_id):
                return self._halt("cancelled")
        self._report.stopped = self._reason
        self._stop.set()
        for slot in range(vcpus(self._a.memory_mb)):
            self._crew.progress.ask_pause(slot)
        await asyncio.sleep(max(0.0, self._end - time.monotonic()))
        return self._halt(self._reason)

    def _halt(self, why: str) -> None:
        self._report.stopped = why
        self._stop.set()
        self._crew.kill_all("deadline")


def cancel_poll_s(workers: int) -> float:
    """How often one of so many workers looks whether the job was cancelled: together a thousand requests a second."""
    return _CANCEL_POLL_S * max(1.0, workers / _POLLING_WORKERS)


def _first(group: BaseExceptionGroup[Failed]) -> Failed:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
