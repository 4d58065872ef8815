"""A sorted run: blocks of records in order, and before them an index, the first key of each block.

Object: magic, length of the index, length of the blocks, the index, the blocks, a note in JSON on how it came about.
The index is read by every merge task, the blocks in ranges, the note only where no worker told of the run.

Keys in an index are bytes where records sort as bytes (*plain* runs); a supervisor may look into those. Any other keys
are pickled, and are unpickled in runners only: unpickling runs the user's code.
"""

from __future__ import annotations

import json
import pickle
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any

from bellwren.errors import InputError
from bellwren.payload.results import dumps_result
from bellwren.payload.text import message_of

_MAGIC = b"BWR1"
_HEAD = struct.Struct("<4sQQ")
_INDEX = struct.Struct("<QB")
HEAD_BYTES = _HEAD.size
_KEY_SHARE = 32
"""A block has this many times the bytes of its first key, so that an index stays small beside its run."""


@dataclass(frozen=True)
class Index:
    """Where the blocks of a run lie."""

    plain: bool
    """Whether keys are bytes that compare as records do."""
    sizes: Sequence[int]
    """Bytes of each block."""
    counts: Sequence[int]
    """Records of each block."""
    ranks: Sequence[int]
    """Rank of each block's keys; blocks lie in order of rank."""
    keys: Sequence[Any]
    """First key of each block, and behind them the last key of rank 0 (None where there is none)."""
    places: Sequence[int] | None = None
    """Which blocks of the run these are, and how many it has, where they are not all of them."""

    def __len__(self) -> int:
        return len(self.sizes)

    def offsets(self) -> list[int]:
        """Where each block begins among the blocks, and where the last one ends."""
        return list(accumulate(self.sizes, initial=0))

    def to_bytes(self) -> bytes:
        """The index as it stands in the object."""
        numbers = array("Q", [*self.sizes, *self.counts]).tobytes() + bytes(self.ranks)
        if self.plain:
            keys = [key or b"" for key in self.keys]
            coded = array("Q", map(len, keys)).tobytes() + b"".join(keys)
        else:
            coded = dumps_result(list(self.keys))
        return _INDEX.pack(len(self), self.plain) + numbers + coded

    @staticmethod
    def is_plain(data: bytes | memoryview) -> bool:
        """Whether ``from_bytes`` unpickles nothing."""
        return bool(_INDEX.unpack_from(data)[1])

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> Index:
        """Read back what ``to_bytes`` made. Unpickles the keys of a run that is not plain."""
        count, plain = _INDEX.unpack_from(data)
        numbers = array("Q", bytes(data[_INDEX.size : _INDEX.size + 16 * count]))
        at = _INDEX.size + 16 * count
        ranks = bytes(data[at : at + count])
        rest = data[at + count :]
        keys = _plain_keys(rest, count) if plain else unpickled(rest)
        return Index(bool(plain), numbers[:count], numbers[count:], ranks, keys)


def unpickled(data: bytes | memoryview | BytesIO) -> Any:
    """Keys and records that a worker of this job has pickled.

    Raises:
        InputError: for keys of a class that does not load again what it has written.
    """
    try:
        return pickle.load(data) if isinstance(data, BytesIO) else pickle.loads(data)  # noqa: S301
    except MemoryError:
        raise
    except Exception as error:  # whatever a class of the user's raises
        raise InputError(
            f"the sort keys cannot be loaded again ({type(error).__name__}: {message_of(error)}); give a key function "
            "that returns numbers, texts or tuples of them"
        ) from error


def _plain_keys(data: bytes | memoryview, blocks: int) -> list[bytes]:
    width = 8 * (blocks + 1)
    lengths = array("Q", bytes(data[:width]))
    ends = list(accumulate(lengths, initial=width))
    return [bytes(data[start:end]) for start, end in pairwise(ends)]


def run_pieces(
    index: Index, blocks: Sequence[bytes | memoryview], note: dict[str, Any]
) -> list[bytes | memoryview]:
    """The object of a run, in pieces, which are not joined: they are sent one by one."""
    coded = index.to_bytes()
    head = _HEAD.pack(_MAGIC, len(coded), sum(index.sizes))
    return [head, coded, *blocks, json.dumps(note).encode()]


def spans(head: bytes | memoryview) -> tuple[tuple[int, int], tuple[int, int]]:
    """Byte ranges ``[start, end)`` of index and blocks, from the first ``HEAD_BYTES`` of an object.

    Raises:
        InputError: if the bytes do not begin a run.
    """
    magic, index_bytes, block_bytes = _HEAD.unpack_from(head)
    if magic != _MAGIC:
        raise InputError(f"not a sorted run: it begins with {magic!r} where {_MAGIC!r} was expected")
    blocks = HEAD_BYTES + index_bytes
    return (HEAD_BYTES, blocks), (blocks, blocks + block_bytes)


def note(data: bytes | memoryview) -> dict[str, Any]:
    """The note of a whole run."""
    found: dict[str, Any] = json.loads(bytes(data[spans(data)[1][1] :]))
    return found


def block_ends(
    offsets: Sequence[int], block_bytes: int, first_key_bytes: Callable[[int], int]
) -> Iterator[int]:
    """Behind which records blocks of some ``block_bytes`` end.

    Args:
        offsets: where each record begins, and where the last one ends.
        block_bytes: what a block has at least, the last one apart.
        first_key_bytes: size of the key of the record at a position; a block with a long first key is longer.
    """
    start, count = 0, len(offsets) - 1
    while start < count:
        least = max(block_bytes, _KEY_SHARE * first_key_bytes(start))
        start = min(count, bisect_left(offsets, offsets[start] + least, start + 1))
        yield start
