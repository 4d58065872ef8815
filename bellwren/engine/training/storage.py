"""The supervisor's side: reads slices and replaces them, for runners that have no storage of their own."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from bellwren import layout
from bellwren.engine.attempt import Work
from bellwren.engine.crew import Refused
from bellwren.engine.io import Pool
from bellwren.engine.sources import ItemSource, Source
from bellwren.engine.stage import Stage
from bellwren.store import as_json

_FIRST_BACKOFF_S = 0.002
_LAST_BACKOFF_S = 0.5

Content = tuple[str, bytes]
"""ETag and bytes of a slice; no bytes where they are those that the runner knows."""
_NONE: Content = ("", b"")


class Slices:
    """The slices of one job. Each is replaced by compare-and-swap, so nothing that is added to one can be lost."""

    def __init__(self, io: Pool, job_id: str, stage: Stage) -> None:
        self._io = io
        self._job_id = job_id
        self._stage = stage

    async def answer(self, head: dict[str, Any], body: memoryview) -> tuple[dict[str, Any], bytes]:
        """Do what a runner asks for: ``open``, ``read``, ``swap`` or ``end``."""
        match head["ask"]:
            case "open":
                return await self._open()
            case "read":
                known = zip(head["slices"], head["etags"], strict=True)
                return _told(await asyncio.gather(*(self._read(number, etag) for number, etag in known)))
            case "swap":
                return await self._swap(head, body)
            case "end":
                await self._io.create(
                    self._io.jobs.bucket, layout.ending(self._job_id), as_json(head["document"])
                )
        return {}, b""

    async def _open(self) -> tuple[dict[str, Any], bytes]:
        """The parameters as the job gave them."""
        given = self._stage.supersteps["parameters"]
        if given is None:
            return {"form": None}, b""
        data = await self._io.get(self._io.jobs.bucket, given["key"])
        if hashlib.sha256(data).hexdigest() != given["sha256"]:
            message = f"the parameters at {given['key']} are not those that the job names by their SHA-256"
            raise Refused({"type": "InputError", "message": message})
        return {"form": given["form"]}, data

    async def _read(self, number: int, etag: str) -> Content:
        """A slice, without its bytes if it still is the one with this ETag; ``_NONE`` if there is none."""
        found = await self._io.call(self._io.jobs.find_changed, self._key(number), etag)
        return _NONE if found is None else found

    async def _swap(self, head: dict[str, Any], body: memoryview) -> tuple[dict[str, Any], bytes]:
        spans = pairwise(accumulate(head["sizes"], initial=0))
        wanted = zip(head["slices"], head["etags"], spans, strict=True)
        return _told(
            await asyncio.gather(
                *(
                    self._replace(number, etag, bytes(body[a:b]), head["tries"])
                    for number, etag, (a, b) in wanted
                )
            )
        )

    async def _replace(self, number: int, etag: str, data: bytes, tries: int) -> Content:
        """Put a slice in the place of the one with this ETag, or where there is none yet if that is empty.

        Returns:
            Its ETag; if another was there, that one.
        """
        if made := await self._io.call(self._io.jobs.swap, self._key(number), data, etag):
            return made, b""
        # Who was late waits a little, and longer each time, so that those at work together do not hinder each other.
        most_s = min(_LAST_BACKOFF_S, _FIRST_BACKOFF_S * 2**tries)
        await asyncio.sleep(random.uniform(0, most_s))  # noqa: S311  jitter
        return await self._read(number, "")

    def _key(self, number: int) -> str:
        return layout.parameter_slice(self._job_id, number)


def _told(found: Sequence[Content]) -> tuple[dict[str, Any], bytes]:
    answer = {"etags": [etag for etag, _ in found], "sizes": [len(data) for _, data in found]}
    return answer, b"".join(data for _, data in found)


class TrainSource:
    """The shards of the job, each with a line to the slices."""

    def __init__(self, source: Source, slices: Slices) -> None:
        self._source = source
        self._slices = slices

    async def load(self, task: int) -> Work:
        """Fetch the shards of a task."""
        work = await self._source.load(task)
        work.serve = self._slices.answer
        return work


class GatherSource:
    """The one task at the end, whose input is the slices."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices

    async def load(self, task: int) -> Work:
        """Nothing is fetched before it is asked for."""
        return Work(task, {"kind": "slices"}, serve=self._slices.answer)


async def open_source(io: Pool, job_id: str, stage: Stage) -> Source:
    """The source of a stage of training."""
    slices = Slices(io, job_id, stage)
    if stage.operation == "gather":
        return GatherSource(slices)
    table = await io.jobs_json(layout.tasks(job_id, stage.name))
    if stage.input["kind"] == "items":
        return TrainSource(ItemSource(io, stage, table), slices)
    from bellwren.engine.records import RecordSource  # noqa: PLC0415  the parsers, which shards of items do not need

    return TrainSource(RecordSource(io, stage, table), slices)
