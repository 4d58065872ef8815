"""Moving a chunk's edges to where records begin, by reading small windows around them."""

from __future__ import annotations

from dataclasses import dataclass

from bellwren.errors import InputError
from bellwren.inputs.chunks import Segment
from bellwren.inputs.cuttable import cut_rule
from bellwren.inputs.delimiters import LineRule, Need
from bellwren.inputs.guess import guess_row
from bellwren.inputs.quotes import RowRule
from bellwren.inputs.source import InputObject, RangeReader, address, read_range
from bellwren.inputs.spec import InputSpec

WINDOW_BYTES = 1 << 16
"""Bytes first read at an edge; each further window is twice as long, up to ``LARGEST_WINDOW_BYTES``."""
LARGEST_WINDOW_BYTES = 1 << 23
LONGEST_RECORD_BYTES = 1 << 30
"""A record longer than this is an error: no runner could hold it with its text."""
LONGEST_OVERLAP_BYTES = 1 << 26


async def segment_span(
    reader: RangeReader, spec: InputSpec, segment: Segment, *, window_bytes: int = WINDOW_BYTES
) -> tuple[int, int]:
    """The byte range of a segment's records; an empty one if none begins in it. Not for ``parquet``.

    Raises:
        InputError: if the object is gone or changed, or if a record is longer than ``LONGEST_RECORD_BYTES``.
    """
    if segment.exact or spec.format == "blocks":
        return segment.start, segment.end
    edges = _Edges(reader, spec.bucket, segment.source, window_bytes)
    rule = cut_rule(spec, segment.source.facts.encoding)
    if rule is None:
        raise InputError(
            f"{edges.name}: was cut though its records can't be found from the middle; plan the job anew"
        )
    if isinstance(rule, RowRule):
        start, end = await edges.row(rule, segment.start), await edges.row(rule, segment.end)
        if start > end:
            # Line starts can't be out of order; guesses can. If none are, the chunks together are the object.
            raise InputError(
                f"{edges.name}: it can't be told where rows begin near bytes {segment.start:,} and {segment.end:,};"
                " raise `chunk`, or write the object with no line ends in quoted fields and say quoted_newlines=False"
            )
        return start, end
    start = await edges.line(rule, segment.start, limit=segment.end)
    if start >= segment.end:
        return segment.end, segment.end
    return start, await edges.line(rule, segment.end, limit=segment.source.size)


@dataclass(frozen=True)
class _Edges:
    """Edges of one object."""

    reader: RangeReader
    bucket: str
    source: InputObject
    window_bytes: int

    @property
    def name(self) -> str:
        return address(self.bucket, self.source.key)

    async def read(self, start: int, end: int) -> bytes:
        return await read_range(self.reader, self.bucket, self.source, start, end)

    async def line(self, rule: LineRule, at: int, *, limit: int) -> int:
        """``B(at)`` of ``delimiters``, or some number from ``limit`` on if it is not below that."""
        size, step = self.source.size, self.window_bytes
        if at <= 0 or at >= size:
            return min(max(at, 0), size)
        low, high = rule.look_behind(at), min(size, at + step)
        data = await self.read(low, high)
        while True:
            found = rule.next_start(data, low, at)
            if isinstance(found, int):
                return found
            step = min(2 * step, LARGEST_WINDOW_BYTES)
            if found is Need.BEHIND:
                further = self._further_behind(rule, low, at)
                data, low = await self.read(further, low) + data, further
                continue
            if high >= limit:
                return high
            if high - at > LONGEST_RECORD_BYTES:
                raise InputError(self._too_long(at))
            if not rule.overlaps:
                # Only the beginning of a delimiter can be in what was searched; a long line must not pile up.
                kept = max(low, high - len(rule.delimiter) + 1)
                kept -= kept % rule.unit
                data, low = data[kept - low :], kept
            further = min(size, high + step)
            data, high = data + await self.read(high, further), further

    async def row(self, rule: RowRule, at: int) -> int:
        """A row start at or after ``at`` that is the same whoever asks; whether it is a true one ``rows`` finds out."""
        size, step = self.source.size, self.window_bytes
        if at <= 0 or at >= size:
            return min(max(at, 0), size)
        while True:
            high = min(size, at - 1 + step)
            data = await self.read(at - 1, high)
            found = guess_row(rule, data, self.source.facts.fields or 0, complete=high == size)
            if found is not None or high == size:
                return size if found is None else at - 1 + found
            if step > LONGEST_RECORD_BYTES:
                raise InputError(self._too_long(at))
            step *= 8

    def _further_behind(self, rule: LineRule, low: int, at: int) -> int:
        if at - low > LONGEST_OVERLAP_BYTES:
            raise InputError(
                f"{self.name}: from byte {low:,} to {at:,} the delimiter {rule.delimiter!r} overlaps itself without a"
                " break, so it can't be told where lines begin; use a newline that does not, or a larger chunk"
            )
        further = max(0, low - 2 * (at - low))
        return further - further % rule.unit

    def _too_long(self, at: int) -> str:
        return (
            f"{self.name}: no record ends within {LONGEST_RECORD_BYTES:,} bytes behind byte {at:,};"
            " check the format and the newline of the input, or read it as `blocks`"
        )
