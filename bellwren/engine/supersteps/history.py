"""How a job of supersteps goes, for people: aggregates and times of each superstep, as it runs and at the end.

The worker that holds the first group keeps it. It travels with that group's checkpoints, so a loss does not lose it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.supersteps.objects import Superstep
from bellwren.engine.supersteps.rules import outline
from bellwren.store import as_json

KEPT = 1000
"""Most supersteps that are kept; of a longer job every second, fourth, ... one."""
FAILURES = 1000
"""Most failures that are told, of a job in which all partitions fail alike."""
_TELL_S = 1.0


class History:
    """The course of the job so far.

    When a superstep was complete stands in the superstep itself, so whoever comes to it later tells the same.
    """

    def __init__(
        self, io: Pool, job_id: str, max_supersteps: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._io = io
        self._job_id = job_id
        self._limit = max_supersteps
        self._clock = clock
        self._at = clock()
        self._told_at = clock()
        self._telling: asyncio.Task[None] | None = None
        self._every = 1
        self._entries: list[dict[str, Any]] = []

    def as_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"at": self._at, "every": self._every, "entries": self._entries}

    def restore(self, document: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._at, self._every = document["at"], document["every"]
        self._entries = list(document["entries"])

    def stepped(self, superstep: int, before: Superstep | None, aggregated: dict[str, Any]) -> None:
        """A superstep was done here; the one before it is complete, and these are its aggregates."""
        if before is not None:
            self._add(superstep - 1, before, aggregated)
        if self._clock() - self._told_at >= _TELL_S and (self._telling is None or self._telling.done()):
            self._told_at = self._clock()
            progress = {"done": superstep, "total": self._limit, "stage": "supersteps"}
            fields = {
                "progress": progress,
                "supersteps": superstep,
                "aggregates": aggregated,
                "history": outline(self._entries),
            }
            # Not into the status itself: what runs user code may not write a job's documents. Nobody waits for it.
            self._telling = asyncio.create_task(self._io.put_json(layout.going(self._job_id), fields))

    async def end(
        self,
        ended: str,
        supersteps: int,
        last: Superstep,
        aggregated: dict[str, Any],
        failures: list[dict[str, Any]],
    ) -> None:
        """Write down why and when the job ended; it is the same whoever writes it."""
        self._add(supersteps - 1, last, aggregated)
        document = {
            "ended": ended,
            "supersteps": supersteps,
            "aggregates": aggregated,
            "every": self._every,
            "history": self._entries,
            "failures": failures[:FAILURES],
            "failed": [group for group, one in enumerate(last.groups) if one.header["failures"]],
        }
        if self._telling is not None:
            await self._telling
        bucket = self._io.jobs.bucket
        await self._io.create(bucket, layout.ending(self._job_id), as_json(document))

    def _add(self, superstep: int, complete: Superstep, aggregated: dict[str, Any]) -> None:
        wall_s, self._at = complete.at - self._at, complete.at
        if superstep % self._every or (self._entries and self._entries[-1]["superstep"] >= superstep):
            return
        headers = [one.header for one in complete.groups]
        self._entries.append(
            {
                "superstep": superstep,
                "wall_s": round(max(0.0, wall_s), 6),
                "compute_s": max(one["compute_s"] for one in headers),
                "messages": sum(one["sent"] for one in headers),
                "active": sum(one["active"] for one in headers),
                "aggregates": aggregated,
            }
        )
        if len(self._entries) > KEPT:
            self._every *= 2
            self._entries = [one for one in self._entries if one["superstep"] % self._every == 0]
