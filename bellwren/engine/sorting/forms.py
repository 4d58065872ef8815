"""Records that sort as the bytes they are: lines, and blocks of one size. They are never pickled.

The order of UTF-8 is that of code points, so natural keys of text are compared as bytes and the text is never decoded.
Lines are held as ``str`` with a character for each byte, because Python compares such texts much faster than ``bytes``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Protocol

_LATIN = "latin-1"
_PREFIX_BYTES = 6
_PREFIX_HEAD = (b"\x3f", b"\xf0")


Buffer = bytes | memoryview


class Form(Protocol):
    """How the records of one sort lie in bytes, and what of them is compared.

    A *batch* is records in the form in which they are best gathered and cut; ``sorted`` takes it apart.
    """

    def batch(self, data: Buffer) -> Any:
        """Records from the bytes that ``join`` made."""
        ...

    def cut(self, batch: Any, key: bytes, *, behind: bool) -> tuple[Any, Any]:
        """Divide a sorted batch before the records of a key, or ``behind`` them."""
        ...

    def concat(self, batches: Iterable[Any]) -> Any:
        """One batch of several."""
        ...

    def sorted(self, batch: Any) -> list[Any]:
        """The records in order; equal keys stay in theirs."""
        ...

    def join(self, records: Sequence[Any]) -> bytes:
        """Records as they stand in runs and in raw output."""
        ...

    def offsets(self, records: Sequence[Any]) -> Sequence[int]:
        """Where each record begins in what ``join`` makes of them, and where the last one ends."""
        ...

    def key_bytes(self, record: Any) -> bytes:
        """What of a record is compared."""
        ...

    def value_bytes(self, record: Any) -> bytes:
        """The record without what separates it from the next."""
        ...


class LineForm:
    """Lines; a batch is a list of ``str`` with a character for each byte."""

    def __init__(self, newline: bytes, key_bytes: int | None) -> None:
        """``newline`` must not overlap itself, or lines could not be told apart again."""
        self._newline = newline.decode(_LATIN)
        self._key: Callable[[str], str] | None = None if key_bytes is None else itemgetter(slice(key_bytes))

    def batch(self, data: Buffer) -> list[str]:
        """Lines, each of which ends with the newline."""
        lines = str(data, _LATIN).split(self._newline)
        lines.pop()
        return lines

    def cut(self, batch: list[str], key: bytes, *, behind: bool) -> tuple[list[str], list[str]]:
        """By bisection."""
        at = (bisect_right if behind else bisect_left)(batch, key.decode(_LATIN), key=self._key)
        return batch[:at], batch[at:]

    def concat(self, batches: Iterable[list[str]]) -> list[str]:
        """One after the other."""
        return list(chain.from_iterable(batches))

    def sorted(self, batch: list[str]) -> list[str]:
        """By all of the line, or by its leading bytes."""
        return sorted(batch, key=self._key)

    def join(self, records: Sequence[str]) -> bytes:
        """Lines, each with its newline."""
        return self._newline.join([*records, ""]).encode(_LATIN)

    def offsets(self, records: Sequence[str]) -> Sequence[int]:
        """Line by line."""
        newline = len(self._newline)
        return array("Q", accumulate((len(record) + newline for record in records), initial=0))

    def key_bytes(self, record: str) -> bytes:
        """The line, or its leading bytes."""
        return (self._key(record) if self._key else record).encode(_LATIN)

    def value_bytes(self, record: str) -> bytes:
        """The line without its newline."""
        return record.encode(_LATIN)


class BlockForm:
    """Blocks of one size, compared by their leading bytes or by all; a batch is their bytes."""

    def __init__(self, record_bytes: int, key_bytes: int | None) -> None:
        self._size = record_bytes
        self._key_bytes = min(record_bytes, key_bytes or record_bytes)

    def batch(self, data: Buffer) -> Buffer:
        """As they are."""
        return data

    def cut(self, batch: Buffer, key: bytes, *, behind: bool) -> tuple[Buffer, Buffer]:
        """By bisection."""
        places = range(0, len(batch), self._size)
        found = (bisect_right if behind else bisect_left)(
            places, key, key=lambda at: bytes(batch[at : at + self._key_bytes])
        )
        return batch[: found * self._size], batch[found * self._size :]

    def concat(self, batches: Iterable[Buffer]) -> bytes:
        """One after the other."""
        return b"".join(batches)

    def sorted(self, batch: bytes) -> list[bytes]:
        """First by six bytes of the key as one number, which is three times as fast, then by all of it.

        The second sort finds most in order already, and where no two numbers are equal it is not needed.
        """
        size = self._size
        records = [batch[at : at + size] for at in range(0, len(batch), size)]
        prefixes, exact = self._prefixes(batch)
        if prefixes:
            # Called with a record, this gives the next number: ``next(numbers, record)``.
            records.sort(key=partial(next, iter(prefixes)))
        if not exact and len(set(prefixes)) < len(records):
            records.sort(key=itemgetter(slice(self._key_bytes)))
        return records

    def join(self, records: Sequence[bytes]) -> bytes:
        """One after the other."""
        return b"".join(records)

    def offsets(self, records: Sequence[bytes]) -> Sequence[int]:
        """Multiples of the size."""
        return range(0, (len(records) + 1) * self._size, self._size)

    def key_bytes(self, record: bytes) -> bytes:
        """The leading bytes that are compared."""
        return record[: self._key_bytes]

    def value_bytes(self, record: bytes) -> bytes:
        """The block."""
        return record

    def _prefixes(self, batch: bytes) -> tuple[list[float], bool]:
        """For each record the first six bytes of its key that are not the same in all, as a number of that order; and
        whether there is no more to the key.

        The bytes are the fraction of doubles between 1 and 2, which are put together column by column.
        """
        found: list[bytes] = []
        for place in range(self._key_bytes):
            column = batch[place :: self._size]
            if column.count(column[:1]) == len(column):
                continue
            if len(found) == _PREFIX_BYTES:
                return _as_doubles(found), False
            found.append(column)
        return _as_doubles(found), True


def _as_doubles(columns: list[bytes]) -> list[float]:
    if not columns:
        return []
    count = len(columns[0])
    rows = bytearray(8 * count)
    for place, byte in enumerate(_PREFIX_HEAD):
        rows[place::8] = byte * count
    for place, column in enumerate(columns, len(_PREFIX_HEAD)):
        rows[place::8] = column
    numbers = array("d", bytes(rows))
    numbers.byteswap()
    return numbers.tolist()
