"""Runs as a merge task's supervisor sees them: indexes read once, then the byte ranges that the runner asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.io import Pool
from bellwren.engine.sorting.boundaries import Boundary, boundaries, parts
from bellwren.engine.sorting.runs import HEAD_BYTES, Index, spans
from bellwren.engine.stage import Stage

_FIRST_READ_BYTES = 64 << 10
_PARALLEL_READS = 16

Range = tuple[int, int, int]
"""Run, and bytes ``[start, end)`` among its blocks."""


class RunSource:
    """Range ``t`` of the keys of all runs.

    Which bytes that is only a runner can say, since keys may be of the user's types. Where they are bytes, this
    supervisor works it out as well, and has the bytes at hand when the runner asks.
    """

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._stage = stage
        source = stage.input["stage"]
        self._keys = [layout.shuffle_part(job_id, source, task) for task in range(stage.input["tasks"])]
        self._limit = asyncio.Semaphore(_PARALLEL_READS)
        self._opened: asyncio.Future[list[_Run]] | None = None
        self._known: tuple[list[Index], list[Boundary]] | None = None

    async def load(self, task: int) -> Work:
        """The indexes; the blocks follow when the runner asks for them."""
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._open_all())
        runs = await self._opened
        body = [run.index for run in runs]
        work = Work(task, {"kind": "runs", "sizes": list(map(len, body))}, body)
        ahead: dict[Range, asyncio.Task[bytes]] = {}
        if self._stage.sort["plain"]:
            ahead = {
                wanted: asyncio.create_task(self._read(runs, wanted)) for wanted in self._expected(runs, task)
            }
        work.bytes_in = sum(end - start for _, start, end in ahead)
        work.ask = self._answering(runs, work, ahead)
        return work

    def _expected(self, runs: list[_Run], task: int) -> list[Range]:
        if self._known is None:
            indexes = [Index.from_bytes(run.index) for run in runs]
            self._known = indexes, boundaries(indexes, self._stage.tasks)
        return [(part.run, part.start, part.end) for part in parts(*self._known, task)]

    def _answering(
        self, runs: list[_Run], work: Work, ahead: dict[Range, asyncio.Task[bytes]]
    ) -> Callable[[dict[str, Any]], Awaitable[list[bytes]]]:
        async def answer(wanted: dict[str, Any]) -> list[bytes]:
            ranges: list[Range] = [(run, start, end) for run, start, end in wanted["ranges"]]
            work.bytes_in = sum(end - start for _, start, end in ranges)
            # Taken out as they are used: a runner that comes after a lost one has them read again.
            reads = [
                ahead.pop(one) if one in ahead else asyncio.create_task(self._read(runs, one))
                for one in ranges
            ]
            return list(await asyncio.gather(*reads))

        return answer

    async def _read(self, runs: list[_Run], wanted: Range) -> bytes:
        number, start, end = wanted
        run = runs[number]
        if run.blocks is not None:
            return run.blocks[start:end]
        async with self._limit:
            first = run.first_block
            return await self._io.get_range(
                self._io.jobs.bucket, self._keys[number], first + start, first + end
            )

    async def _open_all(self) -> list[_Run]:
        """The index of each run, read once for all tasks of this worker, and what came along with it."""
        return await asyncio.gather(*map(self._open, self._keys))

    async def _open(self, key: str) -> _Run:
        bucket = self._io.jobs.bucket
        async with self._limit:
            lead = await self._io.get_range(bucket, key, 0, _FIRST_READ_BYTES)
            (start, end), blocks = spans(lead[:HEAD_BYTES])
            if end > len(lead):
                lead += await self._io.get_range(bucket, key, len(lead), end)
        whole = blocks[1] <= len(lead)
        # What came along is kept only where it is all; else it is memory for little.
        return _Run(lead[start:end], blocks[0], lead[slice(*blocks)] if whole else None)


class _Run:
    """One run."""

    def __init__(self, index: bytes, first_block: int, blocks: bytes | None) -> None:
        self.index = index
        self.first_block = first_block
        self.blocks = blocks
