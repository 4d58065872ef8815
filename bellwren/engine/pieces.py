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
        prefix = layout.partials(self._job_id, self._stage.name) + f"{task:06d}."
        keys = [entry.key for entry in await self._io.list_jobs(prefix)]
        bucket = self._io.jobs.bucket
        return list(
            map(Progressed.from_bytes, await asyncio.gather(*(self._io.get(bucket, k) for k in keys)))
        )

    async def noted(self) -> set[int]:
        """Tasks of which there are pieces, or notes on what went wrong."""
        found: set[int] = set()
        for prefix in (
            layout.partials(self._job_id, self._stage.name),
            layout.trails(self._job_id, self._stage.name),
        ):
            for entry in await self._io.list_jobs(prefix):
                found.add(int(entry.key[len(prefix) :].partition(".")[0]))
        return found
