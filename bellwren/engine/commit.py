"""Committing: a task's output is created once, whoever computed it."""

from __future__ import annotations

import asyncio
import json
import struct
import time

from bellwren import layout
from bellwren.engine.attempt import Progressed, Work
from bellwren.engine.io import Pool
from bellwren.engine.report import Report
from bellwren.engine.stage import Stage
from bellwren.parts import whole_part
from bellwren.store import Store

_PARTIAL = struct.Struct("<I")
_IN_FLIGHT = 8


def output_key(job_id: str, stage: Stage, task: int) -> str:
    """Where the output of a task goes (in the output's bucket, or the jobs bucket for a shuffle)."""
    if stage.output is None:
        return layout.shuffle_part(job_id, stage.name, task)
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

    async def exists(self, task: int) -> bool:
        """Whether the task's output is there already."""
        return await self.io.exists(self._bucket, output_key(self._job_id, self._stage, task))

    async def done(self) -> set[int]:
        """Tasks of the stage whose output is there."""
        self.io.requests["list"] += 1
        return await self.io.call(done_tasks, self.io.store(self._bucket), self._job_id, self._stage)

    async def submit(self, work: Work, done: Progressed, log: bytes) -> None:
        """Start committing, and return as soon as few enough commits are under way."""
        await self._limit.acquire()
        task = asyncio.create_task(self._write(work, done, log))
        self._under_way.add(task)
        task.add_done_callback(lambda _: self._limit.release())

    async def finish(self) -> None:
        """Wait for the commits under way, and raise what one of them met."""
        await asyncio.gather(*self._under_way)

    async def keep_partial(self, work: Work, done: Progressed) -> None:
        """Keep the results of an unfinished task for the next round. A prefix of the results is all it takes."""
        self._report.ended(work, done, "partial", 0.0)
        if done.consumed and done.shuffled is None:
            head = json.dumps(
                {
                    "consumed": done.consumed,
                    "count": done.count,
                    "failed": done.failed,
                    "failures": done.failures,
                }
            ).encode()
            data = _PARTIAL.pack(len(head)) + head + b"".join(done.parts)
            self.io.requests["put"] += 1
            await self.io.call(
                self.io.jobs.put, layout.partial(self._job_id, self._stage.name, work.task), data
            )

    async def resume(self, task: int) -> Progressed:
        """What an earlier round kept of the task."""
        self.io.requests["get"] += 1
        data = await self.io.call(self.io.jobs.find, layout.partial(self._job_id, self._stage.name, task))
        if data is None:
            return Progressed()
        (length,) = _PARTIAL.unpack_from(data)
        start = _PARTIAL.size + length
        return Progressed(parts=[data[start:]], **json.loads(data[_PARTIAL.size : start]))

    async def _write(self, work: Work, done: Progressed, log: bytes) -> None:
        began = time.monotonic()
        if done.shuffled is not None:
            data = done.shuffled
        else:
            assert self._stage.output is not None
            data = whole_part(self._stage.output.format, done.parts, done.count)
        key = output_key(self._job_id, self._stage, work.task)
        first = await self.io.create(self._bucket, key, data)
        if first and log:
            self.io.requests["put"] += 1
            await self.io.call(self.io.jobs.put, layout.log(self._job_id, self._stage.name, work.task), log)
        self._report.ended(work, done, "committed" if first else "lost", time.monotonic() - began)


def output_bucket(stage: Stage, jobs_bucket: str) -> str:
    """The bucket in which the stage's outputs lie."""
    return stage.output.bucket if stage.output else jobs_bucket


def done_tasks(store: Store, job_id: str, stage: Stage) -> set[int]:
    """Tasks of the stage whose output is there, from a listing of ``output_bucket``."""
    if stage.output is None:
        prefix, suffix = layout.shuffled(job_id, stage.name), ""
    else:
        prefix, suffix = stage.output.prefix + layout.PART, "." + stage.output.format
    keys = (entry.key for entry in store.list(prefix))
    return {int(key[len(prefix) : len(key) - len(suffix)]) for key in keys if key.endswith(suffix)}
