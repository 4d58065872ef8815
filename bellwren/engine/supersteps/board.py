"""The barrier: a superstep is complete when its own object is there, in which what all groups sent stands.

One worker, which holds the first group, gathers what the groups sent and creates that object; all others wait for it
alone. So a superstep of *W* workers takes some *2 W* requests and not *W²*. What the gathering worker's own groups sent
need not lie in storage by itself: if that worker is lost before, its groups are done again. Whoever gathers, even two
at once, finds the same, and the first to create the object has decided.
"""

from __future__ import annotations

import asyncio
import time

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.supersteps.objects import Sent, Superstep, fetch
from bellwren.engine.supersteps.rules import FirstLook, pause_s

_KEPT = 4
"""Supersteps that are kept in memory, for groups of this worker that are a step behind."""
_WHOLE_BYTES = 1 << 20
"""Most bytes of groups' objects that stand whole in the superstep's own."""
_ONE_BY_ONE = 8
"""Up to so many objects are asked for one by one; more are listed first."""


class Board:
    """What all groups sent, superstep by superstep; read once for all groups of this worker."""

    def __init__(self, io: Pool, job_id: str, groups: int, *, gathers: bool) -> None:
        """``gathers`` says whether this is the worker that makes supersteps complete."""
        self._io = io
        self._job_id = job_id
        self._groups = groups
        self._gathers = gathers
        self._share = _WHOLE_BYTES // max(1, groups)
        self._from: dict[int, int] = {}
        self._news = asyncio.Event()
        self._own: dict[int, dict[int, Sent]] = {}
        self._unstored: dict[tuple[int, int], bytes] = {}
        self._complete: dict[int, asyncio.Task[Superstep]] = {}
        self._first_look = FirstLook()
        self._behind = True
        """Whether supersteps that come next may be complete already."""

    def expect(self, group: int, superstep: int) -> None:
        """Know that a group will be put up here from this superstep on; what it sent before lies in storage."""
        self._from[group] = superstep
        self._behind = True
        self._news.set()

    async def put_up(self, superstep: int, group: int, data: bytes) -> None:
        """Commit what a group of this worker sent; if that is committed already, that is what counts."""
        own = self._own.setdefault(superstep, {})
        if group in own:
            return
        if self.is_complete(superstep):
            # It stands in the superstep, which is made anew if a failed job is resumed.
            self._unstored[superstep, group] = data
            return
        if self._gathers and len(data) <= self._share:
            own[group] = Sent(data)
            self._unstored[superstep, group] = data
        else:
            key = layout.sent(self._job_id, superstep, group)
            bucket = self._io.jobs.bucket
            if not await self._io.create(bucket, key, data):
                data = await self._io.get(bucket, key)
            own[group] = Sent(data, self._io, key)
        self._news.set()

    def unstored(self, superstep: int, group: int) -> bytes | None:
        """What a group sent, if it has no object of its own: a checkpoint needs one, since nobody sends it again."""
        return self._unstored.get((superstep, group))

    def is_complete(self, superstep: int) -> bool:
        """Whether all groups are known to have committed the superstep."""
        task = self._complete.get(superstep)
        return task is not None and task.done() and not task.cancelled() and task.exception() is None

    def complete(self, superstep: int) -> asyncio.Task[Superstep]:
        """A task that ends when the superstep is complete, with what each group sent."""
        if superstep not in self._complete:
            self._complete[superstep] = asyncio.create_task(self._meet(superstep))
            self._forget(superstep - _KEPT)
        return self._complete[superstep]

    def close(self) -> None:
        """Stop looking."""
        for task in self._complete.values():
            task.cancel()

    async def _meet(self, superstep: int) -> Superstep:
        key = layout.complete(self._job_id, superstep)
        data = await self._io.find(key) if self._behind else None
        if data is None:
            self._behind = False
            await asyncio.sleep(self._first_look.after_s)
            wait = self._gathered(superstep, key) if self._gathers else self._made_by_another(key)
            data, in_vain = await wait
            self._first_look.learn(in_vain=in_vain)
        return Superstep.decode(data, self._io, lambda group: layout.sent(self._job_id, superstep, group))

    async def _made_by_another(self, key: str) -> tuple[bytes, bool]:
        """The superstep's object, and whether there was a look for it in vain."""
        began = time.monotonic()
        in_vain = False
        while (data := await self._io.find(key)) is None:
            in_vain = True
            await asyncio.sleep(pause_s(time.monotonic() - began))
        return data, in_vain

    async def _gathered(self, superstep: int, key: str) -> tuple[bytes, bool]:
        """As ``_made_by_another``, of the worker that makes it."""
        found = self._own.setdefault(superstep, {})
        began = time.monotonic()
        in_vain = False
        while missing := set(range(self._groups)) - found.keys():
            away = missing - self._expected(superstep)
            if not away:
                # Nothing to be seen in storage that this worker does not know first.
                self._news.clear()
                await self._news.wait()
                continue
            found |= await self._look(superstep, away)
            if away - found.keys():
                in_vain = True
                await asyncio.sleep(pause_s(time.monotonic() - began))
        groups = [found[group] for group in range(self._groups)]
        data = Superstep.encode(groups, time.time(), self._share)
        bucket = self._io.jobs.bucket
        if not await self._io.create(bucket, key, data):
            self._behind = True
            data = await self._io.get(bucket, key)
        return data, in_vain

    async def _look(self, superstep: int, groups: set[int]) -> dict[int, Sent]:
        """What there is by now of what these groups sent."""
        if len(groups) > _ONE_BY_ONE:
            prefix = layout.superstep(self._job_id, superstep)
            names = {entry.key[len(prefix) :] for entry in await self._io.list_jobs(prefix)}
            groups = {int(name) for name in names if name.isdecimal()} & groups
        order = sorted(groups)
        keys = [layout.sent(self._job_id, superstep, group) for group in order]
        seen = await asyncio.gather(*(fetch(self._io, key, self._share) for key in keys))
        return {group: sent for group, sent in zip(order, seen, strict=True) if sent is not None}

    def _expected(self, superstep: int) -> set[int]:
        return {group for group, first in self._from.items() if first <= superstep}

    def _forget(self, superstep: int) -> None:
        for old in [one for one in self._complete if one < superstep and self._complete[one].done()]:
            del self._complete[old]
            self._own.pop(old, None)
            for place in [one for one in self._unstored if one[0] == old]:
                del self._unstored[place]
