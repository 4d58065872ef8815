"""The supervisor's side: reads and extends the log of updates, for runners that have no storage of their own."""

from __future__ import annotations

import asyncio
import hashlib
import struct
from typing import Any

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.crew import Refused
from bellwren.engine.io import Pool
from bellwren.engine.sources import ItemSource, Source
from bellwren.engine.stage import Stage
from bellwren.store import as_json

_AHEAD = 8
"""Places of the log that are read at once."""
_LENGTH = struct.Struct("<Q")


class Ledger:
    """The log of one job. Entries are numbered without a gap, and are never changed."""

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._job_id = job_id
        self._stage = stage
        self._end = 0
        """Places before this are known to be taken."""

    async def answer(self, head: dict[str, Any], body: memoryview) -> tuple[dict[str, Any], bytes]:
        """Do what a runner asks for: ``open``, ``read``, ``append``, ``keep`` or ``end``."""
        match head["ask"]:
            case "open":
                return await self._open()
            case "read":
                return await self._read(head["from"])
            case "append":
                return await self._append(head["from"], head["staleness"], bytes(body))
            case "keep":
                await self._io.create(
                    self._io.jobs.bucket, layout.snapshot(self._job_id, head["length"]), bytes(body)
                )
            case "end":
                await self._io.create(
                    self._io.jobs.bucket, layout.ending(self._job_id), as_json(head["document"])
                )
        return {}, b""

    async def _open(self) -> tuple[dict[str, Any], bytes]:
        """The last snapshot, or the parameters as the job gave them."""
        prefix = layout.snapshots(self._job_id)
        kept = await self._io.list_jobs(prefix)
        if kept:
            data = await self._io.get(self._io.jobs.bucket, kept[-1].key)
            return {"form": "snapshot", "length": int(kept[-1].key[len(prefix) :])}, data
        given = self._stage.supersteps["parameters"]
        if given is None:
            return {"form": "json", "length": 0}, b"{}"
        data = await self._io.get(self._io.jobs.bucket, given["key"])
        if hashlib.sha256(data).hexdigest() != given["sha256"]:
            message = f"the parameters at {given['key']} are not those that the job names by their SHA-256"
            raise Refused({"type": "InputError", "message": message})
        return {"form": given["form"], "length": 0}, data

    async def _read(self, start: int) -> tuple[dict[str, Any], bytes]:
        """Every entry from ``start`` on, each behind its length."""
        found: list[bytes] = []
        while True:
            place = start + len(found)
            ahead = 1 if not found else _AHEAD
            batch = await asyncio.gather(*(self._find(place + step) for step in range(ahead)))
            for data in batch:
                if data is None:
                    self._end = max(self._end, start + len(found))
                    return {"count": len(found)}, b"".join(_LENGTH.pack(len(one)) + one for one in found)
                found.append(data)

    async def _find(self, place: int) -> bytes | None:
        self._io.requests["get"] += 1
        return await self._io.call(self._io.jobs.find, layout.update(self._job_id, place))

    async def _append(self, start: int, staleness: int | None, data: bytes) -> tuple[dict[str, Any], bytes]:
        """Put an entry at the first free place from ``start`` on; not if that would be too far on."""
        place = max(start, self._end)
        while staleness is None or place - start <= staleness:
            if await self._io.create(self._io.jobs.bucket, layout.update(self._job_id, place), data):
                self._end = max(self._end, place + 1)
                return {"place": place}, b""
            place += 1
            self._end = max(self._end, place)
        return {"place": None}, b""


class TrainSource:
    """The shards of the job, each with a line to the log."""

    def __init__(self, source: Source, ledger: Ledger) -> None:
        self._source = source
        self._ledger = ledger

    async def load(self, task: int) -> Work:
        """Fetch the shards of a task."""
        work = await self._source.load(task)
        work.serve = self._ledger.answer
        return work


class GatherSource:
    """The one task at the end, whose input is the log."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def load(self, task: int) -> Work:
        """Nothing is fetched before it is asked for."""
        return Work(task, {"kind": "log"}, serve=self._ledger.answer)


async def open_source(io: Pool, job_id: str, stage: Stage) -> Source:
    """The source of a stage of training."""
    ledger = Ledger(io, job_id, stage)
    if stage.operation == "gather":
        return GatherSource(ledger)
    table = await io.jobs_json(layout.tasks(job_id, stage.name))
    if stage.input["kind"] == "items":
        return TrainSource(ItemSource(io, stage, table), ledger)
    from bellwren.engine.records import RecordSource  # noqa: PLC0415  the parsers, which shards of items do not need

    return TrainSource(RecordSource(io, stage, table), ledger)
