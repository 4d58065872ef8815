"""From selected objects to the table of chunks: looks into large objects where their sizes do not say how to cut.

Small objects are not looked into at all: they are read whole, and what they are is seen then. So planning costs
requests only for objects larger than a chunk: one each, and for CSV with quoted fields a pass over the object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bellwren.errors import InputError
from bellwren.inputs.chunks import Chunk, ChunkTable, Segment
from bellwren.inputs.compression import MAGIC_BYTES, recognise
from bellwren.inputs.cuttable import cut_rule
from bellwren.inputs.cutting import (
    TASKS_PER_SLOT,
    Divided,
    TaskSize,
    cut,
    even_cuts,
    refuse_too_many,
    task_size,
)
from bellwren.inputs.encodings import encoding, settle
from bellwren.inputs.fetch import fetch, read_footer
from bellwren.inputs.parquet_footer import row_groups
from bellwren.inputs.parser import refuse_other_formats
from bellwren.inputs.quotes import RowRule, RowScan, RowStart
from bellwren.inputs.rows import checked_header, first_row
from bellwren.inputs.source import Facts, InputObject, RangeReader, address, read_range
from bellwren.inputs.spec import InputSpec

SCAN_BYTES = 4 << 30
"""CSV up to this sum is read in planning to find true row starts, at 70 to 300 MB/s: within about a minute. Beyond it
row starts are guessed, and proven when they are read."""
LARGEST_HEADER_BYTES = 1 << 24

_HEAD_BYTES = 1 << 16
_AT_ONCE = 16


async def plan_chunks(
    reader: RangeReader,
    spec: InputSpec,
    objects: Sequence[InputObject],
    *,
    slots: int,
    tasks_per_slot: int = TASKS_PER_SLOT,
    scan_bytes: int = SCAN_BYTES,
) -> ChunkTable:
    """The chunks of an input.

    Args:
        reader: storage.
        spec: the input.
        objects: what ``select_objects`` chose.
        slots: runners that will work at once (workers times vCPUs of each).
        tasks_per_slot: tasks to make for each of them, if there is enough input.
        scan_bytes: how much CSV is read to find row starts.

    Raises:
        InputError: if an object is gone or changed, or is not what the format says; or if there are too many chunks.
    """
    size = task_size(spec, [source.size for source in objects], slots, tasks_per_slot=tasks_per_slot)
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def look(source: InputObject) -> Divided:
        async with at_once:
            return await _look(reader, spec, source)

    large = [source for source in objects if source.size > size.bytes]
    looks = [asyncio.ensure_future(look(source)) for source in large]
    try:
        seen = dict(zip((source.key for source in large), await asyncio.gather(*looks), strict=True))
    finally:
        for task in looks:
            task.cancel()
    divided = [seen.get(source.key) or Divided(source) for source in objects]
    refuse_too_many(spec, divided, size)
    return cut(spec, await _find_rows(reader, spec, divided, size, scan_bytes), size)


async def _look(reader: RangeReader, spec: InputSpec, source: InputObject) -> Divided:
    """How an object larger than a chunk may be divided."""
    if spec.format in ("objects", "blocks"):
        return Divided(source, divisible=spec.format == "blocks")
    if spec.format == "parquet":
        footer = await read_footer(reader, spec.bucket, source)
        groups = row_groups(footer, address(spec.bucket, source.key), spec.columns)
        known = replace(source, facts=Facts(footer_bytes=len(footer)))
        return Divided(known, row_groups=tuple(group.size(spec.columns) for group in groups))
    return await _look_at_text(reader, spec, source)


async def _look_at_text(reader: RangeReader, spec: InputSpec, source: InputObject) -> Divided:
    if spec.compression not in ("auto", "none") or cut_rule(spec) is None:
        return Divided(source)
    head_bytes = MAGIC_BYTES if spec.format == "lines" else _HEAD_BYTES
    head = await read_range(reader, spec.bucket, source, 0, min(source.size, head_bytes))
    compression = "none" if spec.compression == "none" else recognise(head)
    if compression != "none":
        return Divided(replace(source, facts=Facts(compression=compression)))
    if spec.format == "csv":
        return await _table(reader, spec, source, head)
    if spec.encoding and not encoding(spec.encoding).settled:
        declared, _ = settle(spec.encoding, head)
        return Divided(replace(source, facts=Facts(encoding=declared.codec)), divisible=True)
    return Divided(source, divisible=True)


async def _table(reader: RangeReader, spec: InputSpec, source: InputObject, head: bytes) -> Divided:
    """A CSV object, with what its first row says."""
    name = address(spec.bucket, source.key)
    declared, mark = settle(spec.encoding or "utf-8", head)
    refuse_other_formats(head, name, wide=declared.unit > 1)
    while True:
        first = first_row(spec, declared.codec, head[mark:], complete=len(head) == source.size)
        if first is not None:
            row, end = first
            columns = checked_header(spec, row, name) if row and spec.header else None
            known = replace(source, facts=Facts(columns=columns, fields=len(row)))
            return Divided(known, divisible=True, first_cut=mark + end)
        if len(head) >= LARGEST_HEADER_BYTES:
            raise InputError(
                f"{name}, line 1: the first row does not end within {len(head):,} bytes; is a quote not closed?"
            )
        further = min(source.size, 4 * len(head))
        head += await read_range(reader, spec.bucket, source, len(head), further)


async def _find_rows(
    reader: RangeReader, spec: InputSpec, objects: Sequence[Divided], size: TaskSize, scan_bytes: int
) -> list[Divided]:
    """Row starts for the objects in which only reading them from the start finds any, as far as ``scan_bytes`` goes."""
    rule = cut_rule(spec) if spec.format == "csv" else None
    if not isinstance(rule, RowRule):
        return list(objects)
    if sum(entry.source.size for entry in objects if entry.divisible) > scan_bytes:
        return list(objects)
    return [
        replace(entry, rows=await _scan(reader, spec, entry, size, rule)) if entry.divisible else entry
        for entry in objects
    ]


async def _scan(
    reader: RangeReader, spec: InputSpec, entry: Divided, size: TaskSize, rule: RowRule
) -> tuple[RowStart, ...]:
    """One pass over an object, from behind its first row."""
    source = entry.source
    wished = [at for at in even_cuts(source.size, size.bytes) if at >= entry.first_cut]
    mark = 0
    scan: RowScan | None = None
    async for piece in fetch(reader, spec, Chunk((Segment(source, 0, source.size),))):
        if scan is None:
            _, mark = settle(spec.encoding or "utf-8", piece.data)
            scan = RowScan(rule.quotes, wished, offset=mark)
        scan.feed(piece.data[mark:] if piece.offset == 0 else piece.data)
    return tuple(scan.found) if scan else ()
