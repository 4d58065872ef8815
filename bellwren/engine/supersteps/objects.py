"""The one object that a group puts for each superstep: a header document, messages by receiving group, aggregates.

::

    length of the header u32 | header JSON | section for each group in ``to`` | aggregates

Small objects are read whole, in one request; of large ones each group reads the header and its own section.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import Any

from bellwren.engine.io import Pool
from bellwren.store import Entry

_LENGTH = struct.Struct("<I")
_WHOLE_BYTES = 512 << 10
_LEAD_BYTES = 64 << 10

HEADER_FIELDS = ("active", "sent", "failures", "to", "sizes", "partials", "aggregated", "compute_s")


def encode(answer: dict[str, Any], sections: memoryview) -> bytes:
    """The object, from what the runner answered to a step."""
    header = json.dumps({name: answer[name] for name in HEADER_FIELDS}, allow_nan=False).encode()
    return b"".join((_LENGTH.pack(len(header)), header, sections))


class Sent:
    """What one group sent in one superstep, as others read it."""

    def __init__(self, lead: bytes, io: Pool | None = None, key: str = "") -> None:
        """``lead`` is the whole object, or with ``io`` and ``key`` as much of it as holds the header."""
        (length,) = _LENGTH.unpack_from(lead)
        self.header: dict[str, Any] = json.loads(lead[_LENGTH.size : _LENGTH.size + length])
        self._lead = lead
        self._io = io
        self._key = key
        self._start = _LENGTH.size + length
        ends = [self._start]
        for size in (*self.header["sizes"], self.header["partials"]):
            ends.append(ends[-1] + size)
        self._spans = dict(zip(self.header["to"], pairwise(ends), strict=False))
        self._partials = (ends[-2], ends[-1])

    async def section(self, group: int) -> bytes:
        """Messages to the partitions of a group; empty if there are none."""
        span = self._spans.get(group)
        return await self._read(*span) if span else b""

    async def partials(self) -> bytes:
        """The aggregates of the group's partitions."""
        return await self._read(*self._partials)

    async def _read(self, start: int, end: int) -> bytes:
        if end <= len(self._lead) or self._io is None:
            return self._lead[start:end]
        return await self._io.get_range(self._io.jobs.bucket, self._key, start, end)


async def fetch(io: Pool, entry: Entry) -> Sent:
    """Read an object that a listing has shown."""
    bucket = io.jobs.bucket
    if entry.size <= _WHOLE_BYTES:
        return Sent(await io.get(bucket, entry.key))
    lead = await io.get_range(bucket, entry.key, 0, _LEAD_BYTES)
    (length,) = _LENGTH.unpack_from(lead)
    if (missing := _LENGTH.size + length) > len(lead):
        lead += await io.get_range(bucket, entry.key, len(lead), missing)
    return Sent(lead, io, entry.key)
