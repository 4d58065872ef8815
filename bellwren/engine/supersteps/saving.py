"""Checkpoints of one group, and the deletion of what they make superfluous.

A group goes on from its own checkpoint and from what all groups sent since, so checkpoints of different groups need
not be of one superstep, and a loss costs only the group that was lost (confined recovery, as in Pregel).
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from dataclasses import dataclass
from typing import Any

from bellwren import layout
from bellwren.engine.io import Pool
from bellwren.engine.supersteps.history import History

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class Checkpoint:
    """The states of a group after a superstep."""

    superstep: int
    note: dict[str, Any]
    """Of the first group: ``history``, up to the superstep before."""
    states: bytes


class Saver:
    """Writes the states of a group, behind the supersteps that go on meanwhile."""

    def __init__(self, io: Pool, job_id: str, group: int, groups: int) -> None:
        self._io = io
        self._job_id = job_id
        self._group = group
        self._groups = groups
        self._under_way: asyncio.Task[None] | None = None
        self._at = time.monotonic()
        self.saved = -1
        """The superstep of the last checkpoint, also if it is still on its way."""
        self.cost_s: float | None = None
        """What the last checkpoint took."""

    @property
    def since_s(self) -> float:
        """Seconds since the last checkpoint, or since the start."""
        return time.monotonic() - self._at

    async def latest(self) -> Checkpoint | None:
        """The last checkpoint; None if there is none yet."""
        await self.settle()
        prefix = layout.group_checkpoints(self._job_id, self._group)
        entries = await self._io.list_jobs(prefix)
        if not entries:
            return None
        key = entries[-1].key
        data = await self._io.get(self._io.jobs.bucket, key)
        self.saved = int(key[len(prefix) :])
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        return Checkpoint(self.saved, json.loads(data[_LENGTH.size : start]), data[start:])

    def save(
        self, superstep: int, states: bytes, took_s: float, history: History | None, sent: bytes | None
    ) -> None:
        """Start to write a checkpoint; the one before must be there first, so it waits for that.

        ``sent`` is what the group sent in the superstep, if that has no object of its own yet.
        """
        note = json.dumps({"history": history.as_dict()} if history else {}, allow_nan=False).encode()
        data = b"".join((_LENGTH.pack(len(note)), note, states))
        self.saved = superstep
        self._at = time.monotonic()
        writing = self._write(self._under_way, superstep, data, took_s, sent, clean=history is not None)
        self._under_way = asyncio.create_task(writing)

    async def settle(self) -> None:
        """Wait until what was started is written."""
        if self._under_way is not None:
            await self._under_way

    async def _write(
        self,
        before: asyncio.Task[None] | None,
        superstep: int,
        data: bytes,
        took_s: float,
        sent: bytes | None,
        *,
        clean: bool,
    ) -> None:
        if before is not None:
            await before
        began = time.monotonic()
        if sent is not None:
            # Whoever goes on from the checkpoint does not send it again.
            key = layout.sent(self._job_id, superstep, self._group)
            await self._io.create(self._io.jobs.bucket, key, sent)
        await self._io.put(layout.checkpoint(self._job_id, self._group, superstep), data)
        self.cost_s = took_s + time.monotonic() - began
        if clean:
            await self._clean()

    async def _clean(self) -> None:
        """Delete checkpoints that have a later one, and supersteps that all checkpoints lie behind."""
        prefix = layout.checkpoints(self._job_id)
        keys: dict[int, list[str]] = {}
        for entry in await self._io.list_jobs(prefix):
            group, _, _ = entry.key[len(prefix) :].partition("/")
            keys.setdefault(int(group), []).append(entry.key)
        doomed = [key for found in keys.values() for key in found[:-1]]
        if len(keys) == self._groups:
            # A group that goes on behind superstep c reads what was sent in c.
            least = min(int(found[-1].rpartition("/")[2]) for found in keys.values())
            limit = layout.superstep(self._job_id, least)
            older = await self._io.list_jobs(layout.supersteps(self._job_id))
            doomed += [entry.key for entry in older if entry.key < limit]
        await self._io.call(self._io.jobs.delete, doomed)
