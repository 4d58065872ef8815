"""A bucket in memory that behaves as S3 does where it matters, and the way of an input through it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from bellwren.errors import InputError
from bellwren.inputs.chunks import Chunk, ChunkTable
from bellwren.inputs.fetch import fetch
from bellwren.inputs.listing import select_objects
from bellwren.inputs.planning import SCAN_BYTES, plan_chunks
from bellwren.inputs.records import record_batches
from bellwren.inputs.source import Piece
from bellwren.inputs.spec import InputSpec


@dataclass(frozen=True)
class Entry:
    key: str
    size: int
    etag: str


class Bucket:
    """Objects by key; every request is written down."""

    def __init__(self, objects: dict[str, bytes] | None = None) -> None:
        self.objects = dict(objects or {})
        self.requests: list[tuple[str, int, int]] = []
        self.under_way = self.most_under_way = 0

    def delay_s(self, start: int) -> float:
        return 0.0

    def listing(self, prefix: str = "") -> list[Entry]:
        return [Entry(k, len(v), _etag(v)) for k, v in self.objects.items() if k.startswith(prefix)]

    async def get_range(self, bucket: str, key: str, start: int, end: int, *, etag: str) -> bytes:
        self.requests.append((key, start, end))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.delay_s(start))
        finally:
            self.under_way -= 1
        if key not in self.objects:
            raise FileNotFoundError(key)
        data = self.objects[key]
        if _etag(data) != etag:
            raise InputError(f"s3://{bucket}/{key} changed while the job ran")
        assert 0 <= start < end, "S3 answers 416 to an empty range"
        assert start < len(data), "S3 answers 416 to a range behind the end"
        return data[start:end]


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def plan(
    bucket: Bucket, spec: InputSpec, *, slots: int = 1, scan_bytes: int = SCAN_BYTES, tasks_per_slot: int = 4
) -> ChunkTable:
    """The table of chunks, by way of its JSON."""
    chosen = select_objects(spec, bucket.listing(spec.key)).objects
    table = asyncio.run(
        plan_chunks(bucket, spec, chosen, slots=slots, scan_bytes=scan_bytes, tasks_per_slot=tasks_per_slot)
    )
    return ChunkTable.from_dict(json.loads(json.dumps(table.as_dict())))


def pieces_of(bucket: Bucket, spec: InputSpec, chunk: Chunk, **sizes: int) -> list[Piece]:
    async def collect() -> list[Piece]:
        async with contextlib.aclosing(fetch(bucket, spec, chunk, **sizes)) as stream:
            return [piece async for piece in stream]

    return asyncio.run(collect())


def read(bucket: Bucket, spec: InputSpec, *, scan_bytes: int = SCAN_BYTES, **sizes: int) -> list[list[Any]]:
    """The records of each chunk, in the order of the chunks."""
    spec = InputSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    out = []
    for chunk in plan(bucket, spec, scan_bytes=scan_bytes):
        sent = Chunk.from_dict(json.loads(json.dumps(chunk.as_dict())))
        batches = record_batches(spec, sent, iter(pieces_of(bucket, spec, chunk, **sizes)))
        out.append([record for batch in batches for record in batch])
    return out


def flat(chunks: list[list[Any]]) -> list[Any]:
    return [record for chunk in chunks for record in chunk]
