"""Runs as a merge task's supervisor sees them: indexes read once, then the byte ranges that the runner asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import astuple, dataclass, field
from typing import Any

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.io import Pool
from bellwren.engine.sorting.boundaries import Boundary, boundaries
from bellwren.engine.sorting.partition import RunCuts, pieces, refined, run_cuts, step_of, thinned
from bellwren.engine.sorting.runs import HEAD_BYTES, Index, spans
from bellwren.engine.stage import Stage

_FIRST_READ_BYTES = 64 << 10
_PARALLEL_READS = 16

Range = tuple[int, int, int]
"""Run, and bytes ``[start, end)`` among its blocks."""


class RunSource:
    """Range ``t`` of the keys of all runs.

    Which bytes that is only a runner can say where keys may be of the user's types: it gets the indexes and asks. Where
    keys are bytes this supervisor works it out, holds no more of an index than that, and reads ahead.
    """

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._stage = stage
        source = stage.input["stage"]
        self._keys = [layout.shuffle_part(job_id, source, task) for task in range(stage.input["tasks"])]
        self._limit = asyncio.Semaphore(_PARALLEL_READS)
        self._lead_bytes = _FIRST_READ_BYTES
        self._opened: asyncio.Future[_Opened] | None = None

    async def load(self, task: int) -> Work:
        """The indexes, or the pieces that are needed; the blocks follow when the runner asks for them."""
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._open_all())
        opened = await self._opened
        ahead: dict[Range, asyncio.Task[bytes]] = {}
        if opened.cuts is None:
            body = [run.index for run in opened.runs]
            work = Work(task, {"kind": "runs", "sizes": list(map(len, body))}, body)
        else:
            wanted = pieces(opened.cuts, task)
            limits = [_told(opened.limits, task - 1), _told(opened.limits, task)]
            work = Work(task, {"kind": "runs", "pieces": list(map(astuple, wanted)), "limits": limits})
            ranges = [(piece.run, piece.start, piece.end) for piece in wanted]
            ahead = {one: asyncio.create_task(self._read(opened.runs, one)) for one in ranges}
        work.bytes_in = sum(end - start for _, start, end in ahead)
        work.ask = self._answering(opened.runs, work, ahead)
        return work

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

    async def _open_all(self) -> _Opened:
        """Look into each run once for all tasks of this worker; where indexes are too much to keep, twice."""
        runs = await asyncio.gather(*map(self._open, self._keys))
        if not self._stage.sort["plain"]:
            return _Opened(runs)
        coarse = [run.coarse for run in runs if run.coarse is not None]
        found = boundaries(coarse, self._stage.tasks)
        limits = refined(found, [run.step for run in runs], [run.entries for run in runs])
        numbered = enumerate(runs)
        cuts = await asyncio.gather(*(self._cut(run, number, limits) for number, run in numbered))
        return _Opened(runs, limits, cuts)

    async def _open(self, key: str) -> _Run:
        bucket = self._io.jobs.bucket
        async with self._limit:
            lead = await self._io.get_range(bucket, key, 0, self._lead_bytes)
            (start, end), blocks = spans(lead[:HEAD_BYTES])
            if end > len(lead):
                lead += await self._io.get_range(bucket, key, len(lead), end)
                # Runs are much alike, so one request will do for the others.
                self._lead_bytes = max(self._lead_bytes, end + end // 16)
        whole = blocks[1] <= len(lead)
        # What came along is kept only where it is all; else it is memory for little.
        run = _Run(key, (start, end), blocks[0], lead[slice(*blocks)] if whole else None)
        run.index = lead[start:end]
        if self._stage.sort["plain"]:
            index = Index.from_bytes(run.index)
            run.entries, run.step = len(index), step_of(len(index), len(self._keys))
            run.coarse = thinned(index, run.step)
            if run.step > 1:
                run.index = b""
        return run

    async def _cut(self, run: _Run, number: int, limits: list[Boundary]) -> RunCuts:
        """Where the boundaries cut a run, of which nothing else is kept."""
        async with self._limit:
            if run.step > 1:
                run.index = await self._io.get_range(self._io.jobs.bucket, run.key, *run.index_span)
            index = run.coarse if run.step == 1 and run.coarse else Index.from_bytes(run.index)
            run.index, run.coarse = b"", None
            return run_cuts(index, number, limits)


def _told(limits: list[Boundary], number: int) -> tuple[str, int] | None:
    """A boundary as the runner is told of it; None for either end of everything."""
    if not 0 <= number < len(limits):
        return None
    return (limits[number].key or b"").hex(), limits[number].task


@dataclass
class _Run:
    """One run."""

    key: str
    index_span: tuple[int, int]
    first_block: int
    blocks: bytes | None
    """All of them, where they came along with the index."""
    index: bytes = b""
    entries: int = 0
    step: int = 1
    coarse: Index | None = None
    """What boundaries are found among, until they are."""


@dataclass(frozen=True)
class _Opened:
    """What is known of the runs."""

    runs: list[_Run]
    limits: list[Boundary] = field(default_factory=list)
    cuts: list[RunCuts] | None = None
    """None where only runners can tell."""
