"""Blocks of one size that sort as the bytes they are: 100-byte records with 10-byte keys, and the like.

A batch stays the bytes that it came as. What is sorted is the numbers of its blocks, by NumPy where it is installed and
by Python's own sort where it is not; both give the same order, and blocks are copied once, when they are joined.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, overload

from bellwren.buffers import buffer
from bellwren.engine.sorting.forms import Buffer

_WORTH_NUMPY_BYTES = 4 << 20
"""Python sorts less in the tenth of a second that it takes to load NumPy."""
_PREFIX_BYTES = 6
_PREFIX_HEAD = (b"\x3f", b"\xf0")
_WORD_BYTES = 8
_TOGETHER = 4096
"""Blocks that are in memory as objects of their own."""


class Blocks(Sequence[bytes]):
    """Blocks of a batch, in an order of their own."""

    def __init__(self, batch: Buffer, size: int, order: Sequence[int]) -> None:
        """``order``: a list, or a NumPy array, of the blocks' numbers in the batch."""
        self._batch = batch
        self._size = size
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Blocks: ...

    def __getitem__(self, at: int | slice) -> bytes | Blocks:
        if isinstance(at, slice):
            return Blocks(self._batch, self._size, self._order[at])
        start = int(self._order[at]) * self._size
        return bytes(self._batch[start : start + self._size])

    def joined(self) -> Buffer:
        """The blocks one after the other."""
        size = self._size
        if isinstance(self._order, list):
            joined = buffer(size * len(self))
            for start in range(0, len(self), _TOGETHER):
                some = self._order[start : start + _TOGETHER]
                piece = b"".join([self._batch[at * size : at * size + size] for at in some])
                joined[start * size : start * size + len(piece)] = piece
            return joined
        rows = _rows(sys.modules["numpy"], self._batch, size)
        taken: memoryview = rows.take(self._order, axis=0).reshape(-1).data
        return taken


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

    def concat(self, batches: Iterable[Buffer]) -> Buffer:
        """One after the other."""
        pieces = list(batches)
        joined = buffer(sum(map(len, pieces)))
        at = 0
        for piece in pieces:
            joined[at : at + len(piece)] = piece
            at += len(piece)
        return joined

    def sorted(self, batch: Buffer) -> Blocks:
        """By the leading bytes; equal ones stay in their order."""
        numpy = _numpy() if "numpy" in sys.modules or len(batch) >= _WORTH_NUMPY_BYTES else None
        if numpy is None:
            order: Sequence[int] = order_in_python(batch, self._size, self._key_bytes)
        else:
            order = order_in_numpy(numpy, batch, self._size, self._key_bytes)
        return Blocks(batch, self._size, order)

    def join(self, records: Blocks) -> Buffer:
        """One after the other."""
        return records.joined()

    def offsets(self, records: Blocks) -> Sequence[int]:
        """Multiples of the size."""
        return range(0, (len(records) + 1) * self._size, self._size)

    def key_bytes(self, record: bytes) -> bytes:
        """The leading bytes that are compared."""
        return record[: self._key_bytes]

    def value_bytes(self, record: bytes) -> bytes:
        """The block."""
        return record


def _numpy() -> ModuleType | None:
    try:
        import numpy  # noqa: PLC0415  an option, and slow to load
    except ImportError:
        return None
    return numpy


def order_in_numpy(np: Any, batch: Buffer, size: int, key_bytes: int) -> Any:
    """Numbers of the blocks in the stable order of their first ``key_bytes``, as an array.

    Sorted by eight bytes of the key as one number; then those that are equal so far by the next eight, and so on, and
    at last by their own numbers: NumPy's unstable sort is three times as fast as its stable one.
    """
    keys = _rows(np, batch, size)[:, :key_bytes]
    word = _word(np, keys[:, :_WORD_BYTES])
    order = np.argsort(word)
    word = word[order]
    # Places in the order whose blocks may not be told apart yet, and for each the number of its group of equals.
    places, group = np.arange(len(order)), np.zeros(len(order), np.int64)
    for start in range(_WORD_BYTES, key_bytes + _WORD_BYTES, _WORD_BYTES):
        first = np.ones(len(word), bool)
        first[1:] = (word[1:] != word[:-1]) | (group[1:] != group[:-1])
        tied = ~first
        tied[:-1] |= ~first[1:]
        if not tied.any():
            break
        places, group = places[tied], np.cumsum(first)[tied]
        blocks = order[places]
        word = _word(np, keys[blocks, start : start + _WORD_BYTES]) if start < key_bytes else blocks
        by = np.lexsort((word, group))
        order[places], word = blocks[by], word[by]
    return order


def _rows(np: Any, batch: Buffer, size: int) -> Any:
    return np.frombuffer(batch, np.uint8).reshape(-1, size)


def _word(np: Any, columns: Any) -> Any:
    """Up to eight bytes of each row as a number of their order."""
    padded = np.zeros((len(columns), _WORD_BYTES), np.uint8)
    padded[:, : columns.shape[1]] = columns
    return padded.view(">u8").reshape(-1).astype(np.uint64)


def order_in_python(batch: Buffer, size: int, key_bytes: int) -> list[int]:
    """As ``order_in_numpy``, as a list.

    Sorted first by six bytes of the key as one number, which is three times as fast as by the key. A second sort by
    the key finds most in order already, and where no two numbers are equal it is not needed.
    """
    order = list(range(len(batch) // size))
    prefixes, exact = _prefixes(batch, size, key_bytes)
    if prefixes:
        order.sort(key=prefixes.__getitem__)
    if not exact and len(set(prefixes)) < len(order):
        order.sort(key=lambda at: bytes(batch[at * size : at * size + key_bytes]))
    return order


def _prefixes(batch: Buffer, size: int, key_bytes: int) -> tuple[list[float], bool]:
    """For each block the first six bytes of its key that are not the same in all, as a number of that order; and
    whether there is no more to the key.

    The bytes are the fraction of doubles between 1 and 2, which are put together column by column.
    """
    found: list[bytes] = []
    for place in range(key_bytes):
        column = bytes(batch[place::size])
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
