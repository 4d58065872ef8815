"""Pieces of tasks in storage: what was done when time ran out, and what several workers did of one task."""

from __future__ import annotations

import asyncio

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.progressed import Progressed
from bellwren.engine.stage import Stage


class Pieces:
    """The pieces of one stage's tasks.

    Each says which positions it covers, and any chain of pieces that begins where the last one ended is as good as
    another, so two workers that write pieces of the same task cannot spoil anything.
    """

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._job_id = job_id
        self._stage = stage

    async def keep(self, task: int, done: Progressed) -> None:
        """Write what there is, if there is anything."""
        if done.consumed > done.start:
            key = layout.partial(self._job_id, self._stage.name, task, done.start)
            await self._io.put(key, done.as_bytes())

    async def load(self, task: int) -> list[Progressed]:
        """Every piece of a task."""
        prefix = layout.task_partials(self._job_id, self._stage.name, task)
        keys = [entry.key for entry in await self._io.list_jobs(prefix)]
        # A piece may be gone by now: somebody has committed the task, and Plan has cleared it away.
        found = await asyncio.gather(*(self._io.find(key) for key in keys))
        return [Progressed.from_bytes(data) for data in found if data is not None]
