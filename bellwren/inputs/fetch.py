"""Exactly the bytes of one chunk's records, from storage: the worker's half that waits, so that the runner never does.

The chunk's edges are moved to where records begin (``edges``); then the bytes between come in parallel ranges and are
handed on in order, a bounded number of bytes ahead of the consumer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from bellwren.errors import InputError
from bellwren.inputs import parquet_footer
from bellwren.inputs.chunks import Chunk, Segment
from bellwren.inputs.edges import WINDOW_BYTES, segment_span
from bellwren.inputs.source import InputObject, Piece, RangeReader, address, read_range
from bellwren.inputs.spec import InputSpec

RANGE_BYTES = 8 << 20
"""Bytes of one request: S3 gives one connection some 80 MB/s, so a range takes a tenth of a second."""
AHEAD_BYTES = 32 << 20
"""Bytes under way or waiting for the consumer, at most (and one range at least)."""
AHEAD_REQUESTS = 16


async def fetch(
    reader: RangeReader,
    spec: InputSpec,
    chunk: Chunk,
    *,
    range_bytes: int = RANGE_BYTES,
    ahead_bytes: int = AHEAD_BYTES,
    window_bytes: int = WINDOW_BYTES,
) -> AsyncIterator[Piece]:
    """The pieces that ``records`` turns into the chunk's records.

    Every segment gives at least one piece, an empty one if need be. Close the iterator when leaving it early
    (``contextlib.aclosing``), so that requests under way are cancelled.

    Args:
        reader: storage.
        spec: the input.
        chunk: one chunk of the table.
        range_bytes: the largest request and the largest piece.
        ahead_bytes: how much may be under way or waiting for the consumer.
        window_bytes: what is read first at each edge of a part of an object.

    Raises:
        InputError: if an object is gone, changed since planning, or not what its format says; the key is named.
    """
    needed: list[_Range] = []
    for position, segment in enumerate(chunk.segments):
        source = segment.source
        if spec.format == "parquet":
            spans, footer = await _parquet_spans(reader, spec, segment)
            needed.append(_Range(position, source, source.size - len(footer), source.size, footer))
        else:
            spans = [await segment_span(reader, spec, segment, window_bytes=window_bytes)]
        needed.extend(
            _Range(position, source, at, min(at + range_bytes, end))
            for start, end in spans
            for at in (range(start, end, range_bytes) if start < end else (start,))
        )
    async for piece in _in_order(reader, spec.bucket, needed, ahead_bytes):
        yield piece


async def read_footer(reader: RangeReader, bucket: str, source: InputObject) -> bytes:
    """The footer of a Parquet object, closing mark included.

    Raises:
        InputError: if the object is no Parquet object.
    """
    name = address(bucket, source.key)
    start = max(0, source.size - (source.facts.footer_bytes or parquet_footer.TAIL_BYTES))
    tail = await read_range(reader, bucket, source, start, source.size)
    length = parquet_footer.footer_length(tail, name)
    if length > source.size:
        raise InputError(
            f"{name}: its Parquet footer claims {length:,} bytes of {source.size:,}; it is damaged"
        )
    if length > len(tail):
        tail = await read_range(reader, bucket, source, source.size - length, start) + tail
    return tail[len(tail) - length :]


@dataclass(frozen=True)
class _Range:
    segment: int
    source: InputObject
    start: int
    end: int
    data: bytes | None = None
    """The bytes, where they are at hand."""


async def _parquet_spans(
    reader: RangeReader, spec: InputSpec, segment: Segment
) -> tuple[list[tuple[int, int]], bytes]:
    source = segment.source
    footer = await read_footer(reader, spec.bucket, source)
    groups = parquet_footer.row_groups(footer, address(spec.bucket, source.key), spec.columns)
    chosen = groups if segment.whole else groups[segment.start : segment.end]
    return parquet_footer.ranges(chosen, spec.columns, source.size - len(footer)), footer


async def _in_order(
    reader: RangeReader, bucket: str, needed: Sequence[_Range], ahead_bytes: int
) -> AsyncIterator[Piece]:
    """Read ranges several at a time and hand them on in their order."""
    waiting: deque[asyncio.Task[bytes]] = deque()
    ahead = begun = 0
    try:
        for range_ in needed:
            while begun < len(needed) and len(waiting) < AHEAD_REQUESTS:
                size = needed[begun].end - needed[begun].start
                if waiting and ahead + size > ahead_bytes:
                    break
                waiting.append(asyncio.ensure_future(_read(reader, bucket, needed[begun])))
                ahead += size
                begun += 1
            yield Piece(range_.segment, range_.start, await waiting[0])
            waiting.popleft()
            ahead -= range_.end - range_.start
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _read(reader: RangeReader, bucket: str, wanted: _Range) -> bytes:
    if wanted.data is not None:
        return wanted.data
    return await read_range(reader, bucket, wanted.source, wanted.start, wanted.end)
