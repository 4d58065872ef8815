"""Records that sort as the bytes they are: lines, and in ``blocks`` those of one size. They are never pickled.

The order of UTF-8 is that of code points, so natural keys of text are compared as bytes and the text is never decoded.
Lines are held as ``str`` with a character for each byte, because Python compares such texts much faster than ``bytes``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Protocol

_LATIN = "latin-1"


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

    def sorted(self, batch: Any) -> Sequence[Any]:
        """The records in order; equal keys stay in theirs."""
        ...

    def join(self, records: Any) -> Buffer:
        """Some of what ``sorted`` gave, as it stands in runs and in raw output."""
        ...

    def offsets(self, records: Any) -> Sequence[int]:
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
