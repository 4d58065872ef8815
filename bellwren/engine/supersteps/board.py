"""The barrier: a superstep is complete when the objects of all groups are there."""

from __future__ import annotations

import asyncio
import time

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.supersteps.objects import Sent, fetch
from bellwren.engine.supersteps.rules import pause_s

_KEPT = 4
"""Supersteps that are kept in memory, for groups of this worker that are a step behind."""


class Board:
    """What all groups sent, superstep by superstep; read once for all groups of this worker."""

    def __init__(self, io: Pool, job_id: str, groups: int) -> None:
        self._io = io
        self._job_id = job_id
        self._groups = groups
        self._from: dict[int, int] = {}
        self._news = asyncio.Event()
        self._own: dict[int, dict[int, Sent]] = {}
        self._complete: dict[int, asyncio.Task[list[Sent]]] = {}

    def expect(self, group: int, superstep: int) -> None:
        """Know that a group will be put up here from this superstep on; what it sent before lies in storage."""
        self._from[group] = superstep
        self._news.set()

    def put_up(self, superstep: int, group: int, sent: Sent) -> None:
        """Know already what a group of this worker has committed."""
        self._own.setdefault(superstep, {})[group] = sent
        self._news.set()

    def is_complete(self, superstep: int) -> bool:
        """Whether all groups are known to have committed the superstep."""
        task = self._complete.get(superstep)
        return task is not None and task.done() and not task.cancelled() and task.exception() is None

    def complete(self, superstep: int) -> asyncio.Task[list[Sent]]:
        """A task that ends when the superstep is complete, with what each group sent, in order."""
        if superstep not in self._complete:
            self._complete[superstep] = asyncio.create_task(self._gather(superstep))
            self._forget(superstep - _KEPT)
        return self._complete[superstep]

    def close(self) -> None:
        """Stop looking."""
        for task in self._complete.values():
            task.cancel()

    async def _gather(self, superstep: int) -> list[Sent]:
        found = self._own.setdefault(superstep, {})
        fetching: dict[int, asyncio.Task[Sent]] = {}
        prefix = layout.superstep(self._job_id, superstep)
        began = time.monotonic()
        while missing := self._missing(found, fetching):
            if missing <= self._expected(superstep):
                # Nothing to be seen in storage that this worker does not know first.
                self._news.clear()
                await self._news.wait()
                continue
            for entry in await self._io.list_jobs(prefix):
                group = int(entry.key[len(prefix) :])
                if group in self._missing(found, fetching) - self._expected(superstep):
                    fetching[group] = asyncio.create_task(fetch(self._io, entry))
            if self._missing(found, fetching) - self._expected(superstep):
                await asyncio.sleep(pause_s(time.monotonic() - began))
        for group, task in fetching.items():
            found[group] = await task
        return [found[group] for group in range(self._groups)]

    def _expected(self, superstep: int) -> set[int]:
        return {group for group, first in self._from.items() if first <= superstep}

    def _missing(self, found: dict[int, Sent], fetching: dict[int, asyncio.Task[Sent]]) -> set[int]:
        return {group for group in range(self._groups) if group not in found and group not in fetching}

    def _forget(self, superstep: int) -> None:
        for old in [one for one in self._complete if one < superstep and self._complete[one].done()]:
            del self._complete[old]
            self._own.pop(old, None)
