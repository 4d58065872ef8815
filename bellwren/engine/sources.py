"""Where the input of a task comes from: the job's items, a chunk of objects, or the shuffle of the stage before."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Protocol

from bellwren import layout
from bellwren.engine import shuffle
from bellwren.engine.attempt import Work
from bellwren.engine.capacity import runner_memory_bytes
from bellwren.engine.crew import Refused
from bellwren.engine.io import Pool
from bellwren.engine.stage import Stage
from bellwren.errors import InputError
from bellwren.store import parse_uri

_WHOLE_PARTITION_BYTES = 64 << 20
"""Up to here a partition is sent to the runner at once, if its memory is large; above, it is streamed block by
block."""
_WHOLE_PARTITION_SHARE = 8
"""And up to this part of the runner's memory: as Python objects it takes several times its bytes."""
_WHOLE_ITEMS_BYTES = 1 << 20
"""Up to here all items are read at once; above, each task reads its own."""
_FIRST_READ_BYTES = 64 << 10
_STREAM_READ_BYTES = 4 << 20
_LEAST_STREAM_READ_BYTES = 8 << 10
_PARALLEL_READS = 16


class Source(Protocol):
    """Fetches the input of one task."""

    async def load(self, task: int) -> Work:
        """The task with its input at hand."""


async def open_source(io: Pool, job_id: str, stage: Stage, memory_mb: int) -> Source:
    """The source that the stage's input names, for a worker of that size."""
    if stage.input["kind"] == "shuffle":
        return ShuffleSource(io, job_id, stage, runner_memory_bytes(memory_mb) // _WHOLE_PARTITION_SHARE)
    if stage.operation in ("train", "gather"):
        from bellwren.engine.training.storage import open_source as open_shards  # noqa: PLC0415  only they need it

        return await open_shards(io, job_id, stage)
    if stage.input["kind"] == "runs":
        from bellwren.engine.sorting.source import open_runs  # noqa: PLC0415  only sorts need it

        return open_runs(io, job_id, stage)
    table = await io.jobs_json(layout.tasks(job_id, stage.name))
    if stage.input["kind"] == "items":
        return ItemSource(io, stage, table)
    if stage.input["kind"] == "results":
        from bellwren.engine.earlier import ResultSource  # noqa: PLC0415  few jobs read another's results

        return ResultSource(io, stage, table)
    from bellwren.engine.records import RecordSource  # noqa: PLC0415  most jobs over items need no parsers

    return RecordSource(io, stage, table)


async def load_code(io: Pool, stage: Stage) -> dict[str, bytes]:
    """The code objects that the stage's functions name, by SHA-256, each verified before anyone looks into it.

    Raises:
        Refused: if one is missing or is not what its hash says.
    """
    code: dict[str, bytes] = {}
    for reference in stage.functions.values():
        sha256 = reference.get("sha256", "")
        if sha256 and sha256 not in code:
            code[sha256] = await _load_verified(io, reference)
    return code


async def _load_verified(io: Pool, reference: dict[str, Any]) -> bytes:
    bucket, key = (
        parse_uri(reference["code"]) if "code" in reference else (io.jobs.bucket, reference["payload"])
    )
    uri = f"s3://{bucket}/{key}"
    try:
        data = await io.get(bucket, key)
    except FileNotFoundError as error:
        raise Refused({"type": "InputError", "message": f"the job's code is gone: {error}"}) from error
    found = hashlib.sha256(data).hexdigest()
    if found != reference["sha256"]:
        message = f"{uri} has SHA-256 {found}, but the job names {reference['sha256']}; nothing was loaded"
        raise Refused({"type": "InputError", "message": message})
    return data


class ItemSource:
    """Items lie framed in one object; a task is a range of its bytes. Few bytes are read once for all tasks."""

    def __init__(self, io: Pool, stage: Stage, table: dict[str, Any]) -> None:
        self._io = io
        self._codec = stage.input["codec"]
        self._tasks = table["items"]
        self._bucket, self._key, self._etag = io.jobs.bucket, stage.input["key"], stage.input["etag"]
        size = self._tasks[-1][3]
        self._whole = asyncio.ensure_future(self._read(0, size)) if size <= _WHOLE_ITEMS_BYTES else None

    async def load(self, task: int) -> Work:
        """Fetch the task's items."""
        first, count, start, end, leave = self._tasks[task]
        data = (await self._whole)[start:end] if self._whole else await self._read(start, end)
        head = {"kind": "items", "codec": self._codec, "first": first, "count": count, "leave": leave}
        return Work(task, head, [data], bytes_in=end - start)

    async def _read(self, start: int, end: int) -> bytes:
        return await self._io.get_range(self._bucket, self._key, start, end, etag=self._etag)


class ShuffleSource:
    """Partition ``t`` of every shuffle object of the stage before."""

    def __init__(self, io: Pool, job_id: str, stage: Stage, whole_bytes: int) -> None:
        self._io = io
        self._stage = stage
        self.whole_bytes = min(_WHOLE_PARTITION_BYTES, whole_bytes)
        """Up to here a partition is in memory as a whole."""
        source = stage.input["stage"]
        tasks = stage.input["tasks"]
        self._keys = [layout.shuffle_part(job_id, source, task, tasks) for task in range(tasks)]
        self._limit = asyncio.Semaphore(_PARALLEL_READS)
        self._opened: asyncio.Future[list[tuple[bytes, list[tuple[int, int]]]]] | None = None

    async def load(self, task: int) -> Work:
        """Fetch the partition, or arrange for it to be streamed if it is large."""
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._open_all())
        ranges = [(lead, *spans[task]) for lead, spans in await self._opened]
        total = sum(end - start for _, start, end in ranges)
        head: dict[str, Any] = {"kind": "shuffle", "segments": len(ranges)}
        if total > self.whole_bytes:
            return Work(task, head, open=lambda: _Stream(self, ranges).pull, bytes_in=total)
        segments = await asyncio.gather(
            *(self.read(number, lead, start, end) for number, (lead, start, end) in enumerate(ranges))
        )
        head["sizes"] = [len(segment) for segment in segments]
        return Work(task, head, segments, bytes_in=total)

    async def read(self, number: int, lead: bytes, start: int, end: int) -> bytes:
        """Bytes of one shuffle object, from its leading bytes where they reach that far."""
        if end <= len(lead):
            return lead[start:end]
        async with self._limit:
            return await self._io.get_range(self._io.jobs.bucket, self._keys[number], start, end)

    async def _open_all(self) -> list[tuple[bytes, list[tuple[int, int]]]]:
        """The index of each object, read once for all partitions of this worker, and what came along with it."""
        return await asyncio.gather(*map(self._open, self._keys))

    async def _open(self, key: str) -> tuple[bytes, list[tuple[int, int]]]:
        index = shuffle.index_bytes(self._stage.tasks)
        async with self._limit:
            lead = await self._io.get_range(self._io.jobs.bucket, key, 0, max(index, _FIRST_READ_BYTES))
        spans = shuffle.segment_ranges(lead, self._stage.tasks)
        # What came along is kept only where it holds the whole object; else it is memory for little.
        return (lead if spans[-1][1] <= len(lead) else b""), spans


class _Stream:
    """Reads each segment of a large partition block by block, a step ahead of the merge."""

    def __init__(self, source: ShuffleSource, ranges: list[tuple[bytes, int, int]]) -> None:
        self._source = source
        self._ranges = ranges
        self._at = [start for _, start, _ in ranges]
        self._rest = [b""] * len(ranges)
        self._ahead: dict[int, asyncio.Task[bytes]] = {}
        # Two reads of every segment are in memory, so they shrink as segments grow in number, and then it is one.
        share = source.whole_bytes // (2 * len(ranges))
        self._reads_ahead = share >= _LEAST_STREAM_READ_BYTES
        self._step = max(_LEAST_STREAM_READ_BYTES, min(_STREAM_READ_BYTES, share))

    async def pull(self, number: int) -> bytes:
        """The next whole blocks of a segment; empty at its end."""
        data = self._rest[number]
        while not (usable := shuffle.whole_blocks(data)):
            read = self._ahead.pop(number, None) or self._start(number)
            if read is None:
                if data:
                    raise InputError(f"segment {number} of a shuffle ends within a block; it is damaged")
                break
            data += await read
        self._rest[number] = data[usable:]
        if self._reads_ahead and number not in self._ahead and (following := self._start(number)):
            self._ahead[number] = following
        return data[:usable]

    def _start(self, number: int) -> asyncio.Task[bytes] | None:
        """Start reading on; None at the end."""
        lead, _, end = self._ranges[number]
        start = self._at[number]
        if start >= end:
            return None
        self._at[number] = min(end, start + self._step)
        return asyncio.create_task(self._source.read(number, lead, start, self._at[number]))
