"""What a superstep leaves in storage: an object of each group, and the superstep's own, in which all of them stand.

The object of a group::

    length of the header u32 | header JSON | section for each group in ``to`` | aggregates

The superstep's own::

    length of the header u32 | header JSON (``at``, ``leads``) | the beginning of each group's object, in order

A beginning is the whole object where that is small, so that a superstep of short messages is read in one request. Of a
large object it is the header, and each group reads its own section from the group's object.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from bellwren.engine.io import Pool

_LENGTH = struct.Struct("<I")
_LEAD_BYTES = 64 << 10
"""What holds the header of nearly every object."""

HEADER_FIELDS = ("active", "sent", "failures", "to", "sizes", "partials", "aggregated", "compute_s")


def encode(answer: dict[str, Any], sections: memoryview) -> bytes:
    """The object of a group, from what the runner answered to a step."""
    return _headed({name: answer[name] for name in HEADER_FIELDS}, sections)


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

    def lead(self, most: int) -> bytes:
        """The whole object where it has no more bytes than ``most`` and all of them are here; else its header."""
        size = self._partials[1]
        return self._lead[:size] if size <= min(most, len(self._lead)) else self._lead[: self._start]

    async def _read(self, start: int, end: int) -> bytes:
        if end <= len(self._lead) or self._io is None:
            return self._lead[start:end]
        return await self._io.get_range(self._io.jobs.bucket, self._key, start, end)


@dataclass(frozen=True)
class Superstep:
    """A superstep that is complete."""

    groups: list[Sent]
    """What each group sent, in order."""
    at: float
    """When it was complete, Unix time in seconds: the same for whoever reads it."""

    @staticmethod
    def encode(groups: Sequence[Sent], at: float, most: int) -> bytes:
        """The superstep's own object, with groups' objects of up to ``most`` bytes whole."""
        leads = [one.lead(most) for one in groups]
        return _headed({"at": at, "leads": [len(one) for one in leads]}, *leads)

    @staticmethod
    def decode(data: bytes, io: Pool | None = None, key: Callable[[int], str] = str) -> Superstep:
        """Read back what ``encode`` wrote; ``key`` says where a group's object lies."""
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        header = json.loads(data[_LENGTH.size : start])
        spans = pairwise(accumulate(header["leads"], initial=start))
        groups = [Sent(data[a:b], io, key(group)) for group, (a, b) in enumerate(spans)]
        return Superstep(groups, header["at"])


async def fetch(io: Pool, key: str, most: int) -> Sent | None:
    """Read a group's object, whole if it has up to ``most`` bytes; None if there is none."""
    lead = await io.find(key, max(most, _LEAD_BYTES))
    if lead is None:
        return None
    (length,) = _LENGTH.unpack_from(lead)
    if (missing := _LENGTH.size + length) > len(lead):
        lead += await io.get_range(io.jobs.bucket, key, len(lead), missing)
    return Sent(lead, io, key)


def _headed(header: dict[str, Any], *body: bytes | memoryview) -> bytes:
    document = json.dumps(header, allow_nan=False).encode()
    return b"".join((_LENGTH.pack(len(document)), document, *body))
