"""One worker of a job of supersteps: its groups, its runners, and when it leaves.

Workers must all be there to meet. If one has not come, or is not heard of any more, for ``gather_s``, the others save
and leave, and Plan starts fewer, each with more groups.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from bellwren import layout
from bellwren.engine.claims import home_run
from bellwren.engine.crew import Crew, Runner
from bellwren.engine.io import Pool
from bellwren.engine.report import Report
from bellwren.engine.sources import Source
from bellwren.engine.stage import Stage
from bellwren.engine.supersteps.board import Board
from bellwren.engine.supersteps.group import Group
from bellwren.engine.supersteps.history import History
from bellwren.engine.supersteps.slots import Slot
from bellwren.store import as_json

_LOOK_S = 1.0
_BEAT_S = 10.0


class Heard:
    """Who of a round's workers was heard of, and when."""

    def __init__(self, workers: int, patience_s: float) -> None:
        self.patience_s = patience_s
        self._workers = workers
        self._marks: dict[str, tuple[str, float]] = {}
        self._began: float | None = None

    def look(self, entries: Mapping[str, str], now_s: float) -> int:
        """Take in a listing of the beats (key to ETag); returns how many workers have come and are not silent."""
        self._began = now_s if self._began is None else self._began
        for key, etag in entries.items():
            if self._marks.get(key, ("", 0.0))[0] != etag:
                self._marks[key] = (etag, now_s)
        return sum(now_s - at < self.patience_s for _, at in self._marks.values())

    def overdue(self, now_s: float) -> bool:
        """Whether a worker has been silent, or has not come, for as long as the others have patience."""
        late = (
            len(self._marks) < self._workers
            and self._began is not None
            and now_s - self._began >= self.patience_s
        )
        return late or any(now_s - at >= self.patience_s for _, at in self._marks.values())


class ResidentWorker:
    """Holds a run of groups from one superstep to the next."""

    def __init__(
        self,
        *,
        job_id: str,
        round_: int,
        worker: int,
        workers: int,
        stage: Stage,
        io: Pool,
        crew: Crew,
        slots: int,
        start: Callable[[int], Awaitable[Runner]],
        source: Source,
        stop: asyncio.Event,
        report: Report,
    ) -> None:
        self._job_id = job_id
        self._round = round_
        self._worker = worker
        self._workers = workers
        self._stage = stage
        self._io = io
        self._crew = crew
        self._source = source
        self._left = stop
        self._report = report
        self._slots = [Slot(number, crew, start, stage.item_timeout_s) for number in range(slots)]
        self._mine = home_run(worker, workers, stage.tasks)

    async def run(self) -> None:
        """Live the lives of the worker's groups; all of them end alike."""
        job_id, round_ = self._job_id, self._round
        if await self._io.exists(self._io.jobs.bucket, layout.parting(job_id, round_)):
            return
        await self._io.put(layout.presence(job_id, round_, self._worker), b"here")
        board = Board(self._io, job_id, self._stage.tasks, gathers=0 in self._mine)
        groups = [self._group(number, board) for number in self._mine]
        watch = asyncio.create_task(self._watch())
        try:
            async with asyncio.TaskGroup() as lives:
                for group in groups:
                    lives.create_task(group.live())
        finally:
            watch.cancel()
            board.close()
            self._report.tasks += [group.report() for group in groups]
            await self._keep_logs(groups)

    def _group(self, number: int, board: Board) -> Group:
        limit = self._stage.supersteps["max_supersteps"]
        return Group(
            number,
            job_id=self._job_id,
            stage=self._stage,
            io=self._io,
            slot=self._slots[number % len(self._slots)],
            board=board,
            source=self._source,
            history=History(self._io, self._job_id, limit) if number == 0 else None,
            left=self._left,
        )

    async def _watch(self) -> None:
        """Leave if another worker has, or if one was not heard of for ``gather_s``: not come, or lost for good."""
        if not self._stage.supersteps["resident"]:
            return
        folder = layout.gathering(self._job_id, self._round)
        parting = layout.parting(self._job_id, self._round)
        heard = Heard(self._workers, self._stage.supersteps["gather_s"])
        pause_s = _LOOK_S
        while True:
            await asyncio.sleep(pause_s)
            # What it says changes, and with it the ETag that others see.
            beat = f"{self._report.invocation} {time.time()}".encode()
            await self._io.put(layout.presence(self._job_id, self._round, self._worker), beat)
            entries = {entry.key: entry.etag for entry in await self._io.list_jobs(folder)}
            parted = entries.pop(parting, None) is not None
            together = heard.look(entries, time.monotonic())
            if together == self._workers and not parted:
                pause_s = min(_BEAT_S, heard.patience_s / 3)
                continue
            if parted or heard.overdue(time.monotonic()):
                note = as_json({"together": together, "wanted": self._workers})
                await self._io.create(self._io.jobs.bucket, parting, note)
                self._report.stopped = "gathering"
                self._left.set()
                return

    async def _keep_logs(self, groups: list[Group]) -> None:
        for group in groups:
            if text := group.log.text():
                name = f"{self._stage.name}.{self._round}.{self._report.invocation[:8]}"
                await self._io.put(layout.log(self._job_id, name, group.number), text)
