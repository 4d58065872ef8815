"""Valsort: is it sorted, and is everything there? After the program of that name of the sort benchmark.

A chunk is summed up in a few numbers, and the sums of neighbours are joined: how many records, how many of them have a
predecessor of the same key, the sum of their checksums, and the first place at which the order is broken. The
checksum does not depend on the order, so a sort is right where its output is in order and its count and checksum are
those of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any
from zlib import crc32

from bellwren.algorithms.functions import Functions

KEY = "valsort"
"""The one key of the result."""
_SHOWN_BYTES = 100


@dataclass(frozen=True)
class Summary:
    """What is told of records that follow one another."""

    records: int = 0
    size_bytes: int = 0
    checksum: int = 0
    """Sum of the records' CRC-32."""
    duplicates: int = 0
    """Records whose key is that of the record before."""
    disorder: tuple[int, str, str] | None = None
    """The first record whose key is less than that of the one before: its place, and the two, shortened."""
    first: bytes = b""
    """Key of the first record."""
    last: bytes = b""

    def told(self) -> dict[str, Any]:
        """As JSON has it: ``sorted``, ``records``, ``size_bytes``, ``checksum`` in hexadecimal, ``duplicates``,
        ``disorder``."""
        found = asdict(self)
        del found["first"], found["last"]
        if self.disorder:
            place, before, behind = self.disorder
            found["disorder"] = {"record": place, "is": behind, "follows": before}
        return {"sorted": self.disorder is None, **found, "checksum": f"{self.checksum:x}"}


def summed_up(records: Iterable[bytes], key: Callable[[bytes], bytes] = bytes) -> Summary:
    """Sum up records in their order; ``key`` gives what they are sorted by."""
    count = size = checksum = duplicates = 0
    disorder: tuple[int, str, str] | None = None
    first = last = b""
    for record in records:
        here = key(record)
        if not count:
            first = here
        elif here == last:
            duplicates += 1
        elif here < last and disorder is None:
            disorder = count, _shown(last), _shown(here)
        last = here
        count += 1
        size += len(record)
        checksum += crc32(record)
    return Summary(count, size, checksum, duplicates, disorder, first, last)


def joined(before: Summary, behind: Summary) -> Summary:
    """The summary of records of which the one follows the other."""
    if not before.records or not behind.records:
        return behind if behind.records else before
    disorder = before.disorder
    if disorder is None and behind.first < before.last:
        disorder = before.records, _shown(before.last), _shown(behind.first)
    elif disorder is None and behind.disorder:
        place, *shown = behind.disorder
        disorder = before.records + place, shown[0], shown[1]
    return Summary(
        before.records + behind.records,
        before.size_bytes + behind.size_bytes,
        before.checksum + behind.checksum,
        before.duplicates + behind.duplicates + (before.last == behind.first),
        disorder,
        before.first,
        behind.last,
    )


def functions(record_bytes: int | None, key_bytes: int | None) -> Functions:
    """One summary of everything, under the key ``valsort``."""

    def key(record: bytes) -> bytes:
        return record[:key_bytes]

    def whole(records: Iterable[Any]) -> list[tuple[str, Summary]]:
        pieces = map(_as_bytes, records)
        parts = pieces if record_bytes is None else _cut(pieces, record_bytes)
        return [(KEY, summed_up(parts, key))]

    def told(_: Hashable, summaries: Iterable[Summary]) -> dict[str, Any]:
        return reduce(joined, summaries, Summary()).told()

    return Functions(map=lambda record: whole([record]), whole=whole, reduce=told)


def _cut(pieces: Iterable[bytes], size: int) -> Iterable[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), size):
            yield piece[at : at + size]


def _as_bytes(record: bytes | str) -> bytes:
    return record if isinstance(record, bytes) else record.encode("utf-8", "surrogateescape")


def _shown(key: bytes) -> str:
    return key[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
