"""Runs as a merge task's supervisor sees them: byte ranges that the runner asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.io import Pool
from bellwren.engine.sorting.runs import HEAD_BYTES, spans
from bellwren.engine.stage import Stage

_FIRST_READ_BYTES = 64 << 10
_PARALLEL_READS = 16

Range = tuple[int, int, int]
"""Run, and bytes ``[start, end)`` of its object, or among its blocks."""


def open_runs(io: Pool, job_id: str, stage: Stage) -> PieceSource | RunSource:
    """The source of a merge: by whether it is known already what each task takes."""
    return (PieceSource if stage.sort["plain"] else RunSource)(io, job_id, stage)


class _Source:
    """Reads ranges of runs."""

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._job_id = job_id
        source = stage.input["stage"]
        tasks = stage.input["tasks"]
        self._keys = [layout.shuffle_part(job_id, source, task, tasks) for task in range(tasks)]
        self._limit = asyncio.Semaphore(_PARALLEL_READS)

    def _answering(
        self, work: Work, ahead: dict[Range, asyncio.Task[bytes]]
    ) -> Callable[[dict[str, Any]], Awaitable[list[bytes]]]:
        async def answer(wanted: dict[str, Any]) -> list[bytes]:
            ranges: list[Range] = [(run, start, end) for run, start, end in wanted["ranges"]]
            work.bytes_in = sum(end - start for _, start, end in ranges)
            # Taken out as they are used: a runner that comes after a lost one has them read again.
            reads = [
                ahead.pop(one) if one in ahead else asyncio.create_task(self._read(one)) for one in ranges
            ]
            return list(await asyncio.gather(*reads))

        return answer

    async def _read(self, wanted: Range) -> bytes:
        run, start, end = wanted
        async with self._limit:
            return await self._io.get_range(self._io.jobs.bucket, self._keys[run], start, end)


class PieceSource(_Source):
    """A task's pieces of the runs, as ``control.merging`` has laid them out; they are read ahead."""

    async def load(self, task: int) -> Work:
        """What the task takes and its limits; the bytes follow when the runner asks for them."""
        told = await self._io.jobs_json(layout.merge_pieces(self._job_id, task))
        ranges = [(run, start, end) for run, start, end, *_ in told["pieces"]]
        ahead = {one: asyncio.create_task(self._read(one)) for one in ranges}
        work = Work(task, {"kind": "runs", **told}, bytes_in=sum(end - start for _, start, end in ranges))
        work.ask = self._answering(work, ahead)
        return work


class RunSource(_Source):
    """Range ``t`` of the keys of all runs. Which bytes that is only a runner can say, since keys may be of the user's
    types: it asks for the index of each run, some at a time, and then for bytes among the blocks.
    """

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        super().__init__(io, job_id, stage)
        self._first_block: dict[int, int] = {}
        self._small: dict[int, bytes] = {}
        """Blocks of runs that came along with their index as a whole."""

    async def load(self, task: int) -> Work:
        """Nothing but the way to ask for it."""
        work = Work(task, {"kind": "runs"})
        ranges = self._answering(work, {})

        async def answer(wanted: dict[str, Any]) -> list[bytes]:
            if "indexes" in wanted:
                return list(await asyncio.gather(*map(self._index, wanted["indexes"])))
            return await ranges(wanted)

        work.ask = answer
        return work

    async def _read(self, wanted: Range) -> bytes:
        run, start, end = wanted
        if run not in self._first_block:
            await self._index(run)
        if run in self._small:
            return self._small[run][start:end]
        first = self._first_block[run]
        return await super()._read((run, first + start, first + end))

    async def _index(self, run: int) -> bytes:
        bucket, key = self._io.jobs.bucket, self._keys[run]
        async with self._limit:
            lead = await self._io.get_range(bucket, key, 0, _FIRST_READ_BYTES)
            (start, end), blocks = spans(lead[:HEAD_BYTES])
            if end > len(lead):
                lead += await self._io.get_range(bucket, key, len(lead), end)
        self._first_block[run] = blocks[0]
        if blocks[1] <= len(lead):
            self._small[run] = lead[slice(*blocks)]
        return lead[start:end]
