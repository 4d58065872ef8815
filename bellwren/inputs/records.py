"""A chunk's pieces to its records: pure, for the runner process, which has no input or output of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from bellwren.errors import InputError
from bellwren.inputs.blocks import block_batches, object_batch
from bellwren.inputs.chunks import Chunk, Segment
from bellwren.inputs.compression import decompressed
from bellwren.inputs.lines import line_batches
from bellwren.inputs.parquet import parquet_batches
from bellwren.inputs.rows import OnBad, row_batches
from bellwren.inputs.source import Piece, address
from bellwren.inputs.spec import InputSpec


def records(
    spec: InputSpec, chunk: Chunk, pieces: Iterable[Piece], *, on_bad: OnBad | None = None
) -> Iterator[Any]:
    """The records of a chunk, in order.

    ``lines``: ``str`` (``bytes`` for ``encoding=None``). ``csv``: ``dict[str, str]``, or ``list[str]`` where columns
    have no names. ``parquet``: ``dict[str, Any]``. ``objects``: ``(key, bytes)``. ``blocks``: ``bytes``.

    Args:
        spec: the input.
        chunk: the chunk, as ``fetch`` got it.
        pieces: what ``fetch`` gave, all of it, in order; may be an iterator that waits for more.
        on_bad: takes each bad CSV row, which is then left out; without it the first is an error.

    Raises:
        InputError: for damaged or undecodable data; the object and the place are named.
    """
    return chain.from_iterable(record_batches(spec, chunk, pieces, on_bad=on_bad))


def record_batches(
    spec: InputSpec, chunk: Chunk, pieces: Iterable[Piece], *, on_bad: OnBad | None = None
) -> Iterator[list[Any]]:
    """The same records in lists of some hundreds or thousands; saves a loop that runs over them a call for each."""
    seen = 0
    for position, group in groupby(pieces, key=attrgetter("segment")):
        if position != seen:
            raise InputError(f"the pieces of a chunk came out of order: segment {position} and not {seen}")
        yield from _segment_batches(spec, chunk.segments[position], group, on_bad)
        seen += 1
    if seen != len(chunk.segments):
        raise InputError(f"the pieces of a chunk ended after {seen} of its {len(chunk.segments)} segments")


def _segment_batches(
    spec: InputSpec, segment: Segment, group: Iterator[Piece], on_bad: OnBad | None
) -> Iterator[list[Any]]:
    name = address(spec.bucket, segment.source.key)
    if spec.format == "parquet":
        yield from parquet_batches(spec, segment, group, name)
        return
    first = next(group)
    data = _joined(segment, chain((first,), group), name)
    if spec.format == "objects":
        yield object_batch(segment.source.key, data)
    elif spec.format == "blocks":
        yield from block_batches(data, spec.chunk_bytes)
    else:
        if segment.whole:
            data = decompressed(data, spec.compression, name)
        if spec.format == "csv":
            yield from row_batches(spec, segment, data, name, on_bad)
        else:
            codec = segment.source.facts.encoding
            yield from line_batches(spec, data, name, offset=first.offset, codec=codec)


def _joined(segment: Segment, pieces: Iterable[Piece], name: str) -> Iterator[bytes]:
    """The bytes of pieces that must follow each other without a gap, and reach the segment's end."""
    at: int | None = segment.start if segment.exact else None
    for piece in pieces:
        if at is not None and piece.offset != at:
            raise InputError(
                f"{name}: the piece at byte {at:,} is missing; the next begins at {piece.offset:,}"
            )
        at = piece.offset + len(piece.data)
        if piece.data:
            yield piece.data
    if at is None or (at != segment.end if segment.exact else at < segment.end):
        raise InputError(f"{name}: its pieces end at byte {at} and not at {segment.end:,}")
