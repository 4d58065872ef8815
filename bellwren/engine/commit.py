"""Committing: a task's output is created once, whoever computed it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.io import Pool
from bellwren.engine.progressed import Progressed
from bellwren.engine.report import Report
from bellwren.engine.stage import Stage
from bellwren.parts import whole_part
from bellwren.store import Store

COUNT = "bellwren-count"
"""Metadata of an output: the results in it."""
ITEMS = "bellwren-items"
"""Metadata of an output: the items or records that it stands for, which need not be as many as its results."""
FAILED = "bellwren-failed"
"""Metadata of an output: how many of them failed."""
_IN_FLIGHT = 8
_IN_FLIGHT_BYTES = 24 << 20
"""What waits to be written has no other bound: a store may be slower than the runners."""


def output_key(job_id: str, stage: Stage, task: int) -> str:
    """Where the output of a task goes (in the output's bucket, or the jobs bucket for a shuffle)."""
    if stage.output is None:
        return layout.shuffle_part(job_id, stage.name, task, stage.tasks)
    return stage.output.prefix + layout.part(task, stage.output.format)


class Committer:
    """Writes outputs of one stage; a few are on their way while the next tasks compute."""

    def __init__(self, io: Pool, job_id: str, stage: Stage, report: Report) -> None:
        self.io = io
        self._job_id = job_id
        self._stage = stage
        self._report = report
        self._bucket = output_bucket(stage, io.jobs.bucket)
        self._limit = asyncio.Semaphore(_IN_FLIGHT)
        self._under_way: set[asyncio.Task[None]] = set()
        self._bytes = 0
        self.committing: set[int] = set()
        """Tasks whose output is on its way."""

    async def exists(self, task: int) -> bool:
        """Whether the task's output is there already."""
        if str(task) in self._stage.redo:
            _, round_ = self._stage.redo[str(task)]
            mark = layout.redone(self._job_id, self._stage.name, round_, task)
            return await self.io.exists(self.io.jobs.bucket, mark)
        return await self.io.exists(self._bucket, output_key(self._job_id, self._stage, task))

    async def done(self) -> set[int]:
        """Tasks of the stage whose output is there."""
        return await self.io.call(
            done_tasks, self.io.store(self._bucket), self.io.jobs, self._job_id, self._stage
        )

    async def submit(self, work: Work, done: Progressed) -> None:
        """Start committing, and return as soon as few enough commits are under way."""
        for ended in self._under_way - self._pending():
            ended.result()  # a store that refuses one output refuses the next: nothing more is computed for it
        self.committing.add(work.task)
        await self._limit.acquire()
        while (under_way := self._pending()) and self._bytes + done.size > _IN_FLIGHT_BYTES:
            await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        self._bytes += done.size
        task = asyncio.create_task(self._write(work, done))
        self._under_way.add(task)
        task.add_done_callback(partial(self._landed, done.size))

    def _pending(self) -> set[asyncio.Task[None]]:
        return {task for task in self._under_way if not task.done()}

    def _landed(self, size: int, task: asyncio.Task[None]) -> None:
        self._bytes -= size
        self._limit.release()
        if not task.cancelled() and task.exception() is None:
            self._under_way.discard(task)

    async def finish(self) -> None:
        """Wait for the commits under way, and raise what one of them met."""
        await asyncio.gather(*self._under_way)

    async def _write(self, work: Work, done: Progressed) -> None:
        began = time.monotonic()
        if done.shuffled is not None:
            data = done.shuffled
        else:
            assert self._stage.output is not None
            data = whole_part(self._stage.output.format, done.parts, done.count)
        first = await self._create(
            work.task, data, {ITEMS: str(done.consumed), FAILED: str(done.failed), COUNT: str(done.count)}
        )
        if first and (log := done.log.text()):
            await self.io.put(layout.log(self._job_id, self._stage.name, work.task), log)
        self.committing.discard(work.task)
        self._report.ended(work, done, "committed" if first else "lost", time.monotonic() - began)

    async def _create(self, task: int, data: bytes | memoryview, metadata: dict[str, str]) -> bool:
        key = output_key(self._job_id, self._stage, task)
        if str(task) not in self._stage.redo:
            return await self.io.create(self._bucket, key, data, metadata)
        # A resumed job does this task again: its old output, with failures in it, makes way for the first new one.
        store = self.io.store(self._bucket)
        old, round_ = self._stage.redo[str(task)]
        first = await self.io.call(store.replace, key, data, old, metadata)
        await self.io.put(layout.redone(self._job_id, self._stage.name, round_, task), b"done")
        return first


def output_bucket(stage: Stage, jobs_bucket: str) -> str:
    """The bucket in which the stage's outputs lie."""
    return stage.output.bucket if stage.output else jobs_bucket


def done_tasks(outputs: Store, jobs: Store, job_id: str, stage: Stage) -> set[int]:
    """Tasks of the stage whose output is there, from a listing of ``output_bucket``.

    A task that a resumed job does again counts only once that is done.
    """
    if stage.output is None:
        found = outputs.list_all(layout.shuffled(job_id, stage.name, stage.tasks))
        done = {int(entry.key.rpartition("/")[2]) for entry in found}
    else:
        prefix, suffix = stage.output.prefix + layout.PART, "." + stage.output.format
        keys = (entry.key for entry in outputs.list(prefix))
        done = {int(key[len(prefix) : len(key) - len(suffix)]) for key in keys if key.endswith(suffix)}
    if stage.redo:
        marks = {entry.key for entry in jobs.list(layout.redone_tasks(job_id, stage.name))}
        done -= {
            int(task)
            for task, (_, round_) in stage.redo.items()
            if layout.redone(job_id, stage.name, round_, int(task)) not in marks
        }
    return done
