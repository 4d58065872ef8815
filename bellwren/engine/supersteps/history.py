"""How a job of supersteps goes, for people: aggregates and times of each superstep, as it runs and at the end.

The worker that holds the first group keeps it. It travels with that group's checkpoints, so a loss does not lose it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.supersteps.objects import Sent
from bellwren.store import as_json

KEPT = 1000
"""Most supersteps that are kept; of a longer job every second, fourth, ... one."""
FAILURES = 1000
"""Most failures that are told, of a job in which all partitions fail alike."""
_TELL_S = 1.0


class History:
    """The course of the job so far."""

    def __init__(
        self, io: Pool, job_id: str, max_supersteps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._io = io
        self._job_id = job_id
        self._limit = max_supersteps
        self._clock = clock
        self._at = clock()
        self._told = clock()
        self._every = 1
        self._entries: list[dict[str, Any]] = []

    def as_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"every": self._every, "entries": self._entries}

    def restore(self, document: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._every, self._entries = document["every"], list(document["entries"])

    async def stepped(self, superstep: int, sent: list[Sent] | None, aggregated: dict[str, Any]) -> None:
        """A superstep was done here; the one before it is complete, and these are its aggregates."""
        if sent is not None:
            self._add(superstep - 1, sent, aggregated)
        if self._clock() - self._told >= _TELL_S:
            self._told = self._clock()
            progress = {"done": superstep, "total": self._limit, "stage": "supersteps"}
            fields = {"progress": progress, "supersteps": superstep, "aggregates": aggregated}
            # Not into the status itself: what runs user code may not write a job's documents.
            await self._io.put_json(layout.going(self._job_id), fields)

    async def end(
        self,
        ended: str,
        supersteps: int,
        sent: list[Sent],
        aggregated: dict[str, Any],
        failures: list[dict[str, Any]],
    ) -> None:
        """Write down why and when the job ended; it is the same whoever writes it."""
        self._add(supersteps - 1, sent, aggregated)
        document = {
            "ended": ended,
            "supersteps": supersteps,
            "aggregates": aggregated,
            "every": self._every,
            "history": self._entries,
            "failures": failures[:FAILURES],
            "failed": [group for group, one in enumerate(sent) if one.header["failures"]],
        }
        bucket = self._io.jobs.bucket
        await self._io.create(bucket, layout.ending(self._job_id), as_json(document))

    def _add(self, superstep: int, sent: list[Sent], aggregated: dict[str, Any]) -> None:
        now = self._clock()
        wall_s, self._at = now - self._at, now
        if superstep % self._every or (self._entries and self._entries[-1]["superstep"] >= superstep):
            return
        self._entries.append(
            {
                "superstep": superstep,
                "wall_s": round(wall_s, 6),
                "compute_s": max(one.header["compute_s"] for one in sent),
                "messages": sum(one.header["sent"] for one in sent),
                "active": sum(one.header["active"] for one in sent),
                "aggregates": aggregated,
            }
        )
        if len(self._entries) > KEPT:
            self._every *= 2
            self._entries = [one for one in self._entries if one["superstep"] % self._every == 0]
