"""The shuffle: one object for each map task, its partitions side by side behind an index.

A map task writes one object and a reducer reads one range of each, so W map tasks and R partitions cost W writes
and W·R ranged reads, where one object for each pair would cost W·R writes, the dearest request of S3.

Object: magic, number of partitions, R+1 offsets, the segments, a note in JSON. A segment is a run of blocks; a
block is a length and a pickled list of entries ``(hash, key, values)`` in order of hash. Segments of one partition
can therefore be merged as streams, and a reducer never needs a whole partition in memory. Values of a key stay in
item order: within a task by order of emission, across tasks by task number, since Python's sort and ``heapq.merge``
are stable.
"""

from __future__ import annotations

import heapq
import json
import pickle
import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter, length_hint
from typing import Any

from bellwren.engine.hashing import canonical, partition_of_hash, stable_hash
from bellwren.errors import InputError
from bellwren.payload.text import message_of, short_repr

_MAGIC = b"BWS1"
_HEAD = struct.Struct("<4sI")
_LENGTH = struct.Struct("<I")
_BLOCK_ENTRIES = 512
_BLOCK_VALUES = 4096
_BLOCKS_BYTES = 16 << 20
"""A merge holds a block of every task as Python objects: so much in sum, about, and each within these bounds."""
_LEAST_BLOCK_BYTES = 4 << 10
_LARGEST_BLOCK_BYTES = 256 << 10
_COMBINE_ABOVE = 200_000
_SIMPLE = frozenset({str, int, bytes, bool, type(None)})
"""Types of keys that are canonical as they are, and that ``stable_hash`` knows."""

by_hash = itemgetter(0)
Entry = tuple[int, Hashable, list[Any]]
Combine = Callable[[Any, Iterator[Any]], Any]


class Grouper:
    """Groups the pairs of one map task by key, combining as it goes so that memory follows the number of keys."""

    def __init__(self, combine: Combine | None) -> None:
        self._combine = combine
        self._groups: defaultdict[Hashable, list[Any]] = defaultdict(list)
        self._values = 0

    def add(self, pairs: Iterable[tuple[Hashable, Any]]) -> None:
        """Take one record's pairs, all or none. ``shrink`` is due after some of these.

        Raises:
            TypeError: if what was emitted is no pair, or a key can't be grouped or partitioned.
        """
        emitted = pairs if type(pairs) is list else list(pairs)
        groups = self._groups
        rest = iter(emitted)
        pair: Any = None
        try:
            for pair in rest:
                key, value = pair if type(pair) is tuple else _pair(pair)
                # Text, the most frequent key by far, is canonical as it is.
                if type(key) is not str and type(key) not in _SIMPLE:
                    key = self._canonical(key)
                groups[key].append(value)
        except BaseException:
            self._take_back(emitted[: len(emitted) - length_hint(rest) - 1])
            if type(pair) is tuple:
                _pair(pair)  # says more of one that is no pair
            raise
        self._values += len(emitted)

    def shrink(self, *, at_once: bool = False) -> None:
        """Combine the values of each key, if there are many by now, or ``at_once``.

        Raises:
            InputError: if the combine function raises; values of many records have come together in it.
        """
        if self._combine is None or (self._values <= _COMBINE_ABOVE and not at_once):
            return
        for key, values in self._groups.items():
            if len(values) > 1:
                self._groups[key] = [self._combined(key, values)]
        # Keys that hardly repeat would make every further record shrink again: the bar moves with what is left.
        self._values = -len(self._groups)

    def _combined(self, key: Hashable, values: list[Any]) -> Any:
        assert self._combine is not None
        try:
            return self._combine(key, iter(values))
        except MemoryError:
            raise
        except BaseException as error:  # SystemExit too must not pass for the runner's end
            raise InputError(
                f"the combine function raised {type(error).__name__}: {message_of(error)}, for the key "
                f"{short_repr(key)} and {len(values):,} values; it must take any part of a key's values, in order"
            ) from error

    def _take_back(self, added: list[Any]) -> None:
        for key, _ in reversed(added):
            group = self._groups[canonical(key)]
            group.pop()
            if not group:
                del self._groups[canonical(key)]

    def _canonical(self, key: Any) -> Hashable:
        key = canonical(_hashable(key))
        if key not in self._groups:
            stable_hash(key)  # an unknown type of key is the record's fault, and is found here
        return key  # type: ignore[no-any-return]

    def add_totals(self, totals: dict[Hashable, Any]) -> None:
        """Take values that are already one for each key (a built-in algorithm's own counting)."""
        for key, value in totals.items():
            self._groups[key].append(value)

    def load(self, data: bytes | memoryview, partitions: int) -> dict[str, Any]:
        """Begin with everything that an earlier object holds; returns its note."""
        for start, end in segment_ranges(data, partitions):
            for _, key, values in decode_segment(data[start:end]):
                self._groups[canonical(key)].extend(values)
                self._values += len(values)
        return note(data, partitions)

    def object(self, partitions: int, note: dict[str, Any] | None = None, *, tasks: int = 1) -> bytes:
        """The shuffle object of everything added, with a note on how it came about; one of ``tasks`` objects."""
        self.shrink(at_once=True)
        entries = ((stable_hash(key), key, values) for key, values in self._groups.items())
        return encode(entries, partitions, block_bytes(tasks)) + json.dumps(note or {}).encode()


def block_bytes(tasks: int) -> int:
    """How large a block may be where so many objects are merged; only a single value may be larger."""
    return max(_LEAST_BLOCK_BYTES, min(_LARGEST_BLOCK_BYTES, _BLOCKS_BYTES // max(1, tasks)))


def encode(entries: Iterable[Entry], partitions: int, most_bytes: int = _LARGEST_BLOCK_BYTES) -> bytes:
    """Write entries into one shuffle object, in blocks of at most ``most_bytes``."""
    segments: list[list[Entry]] = [[] for _ in range(partitions)]
    for entry in entries:
        segments[partition_of_hash(entry[0], partitions)].append(entry)
    body: list[bytes] = []
    offsets = [0]
    for segment in segments:
        segment.sort(key=by_hash)
        pickled = (data for block in _blocks(segment) for data in _pickled(block, most_bytes))
        blocks = [_LENGTH.pack(len(block)) + block for block in pickled]
        body += blocks
        offsets.append(offsets[-1] + sum(map(len, blocks)))
    return _HEAD.pack(_MAGIC, partitions) + struct.pack(f"<{partitions + 1}Q", *offsets) + b"".join(body)


def index_bytes(partitions: int) -> int:
    """Length of the index at the start of a shuffle object."""
    return _HEAD.size + 8 * (partitions + 1)


def segment_ranges(index: bytes | memoryview, partitions: int) -> list[tuple[int, int]]:
    """Byte range ``[start, end)`` of each partition's segment, from the first ``index_bytes`` of an object.

    Raises:
        ValueError: if the bytes are not the index of a shuffle object with that many partitions.
    """
    magic, found = _HEAD.unpack_from(index)
    if magic != _MAGIC or found != partitions:
        raise ValueError(
            f"not a shuffle object of {partitions} partitions (magic {magic!r}, {found} partitions)"
        )
    offsets = struct.unpack_from(f"<{partitions + 1}Q", index, _HEAD.size)
    base = index_bytes(partitions)
    return [(base + offsets[p], base + offsets[p + 1]) for p in range(partitions)]


def note(data: bytes | memoryview, partitions: int) -> dict[str, Any]:
    """The note of a whole shuffle object."""
    end = segment_ranges(data, partitions)[-1][1]
    found: dict[str, Any] = json.loads(bytes(data[end:]))
    return found


def decode_segment(segment: bytes | memoryview) -> Iterator[Entry]:
    """Entries of a whole segment."""
    start = 0
    while start < len(segment):
        (length,) = _LENGTH.unpack_from(segment, start)
        start += _LENGTH.size
        yield from pickle.loads(segment[start : start + length])  # noqa: S301  written by a worker of this job
        start += length


def whole_blocks(data: bytes | memoryview) -> int:
    """How many leading bytes of ``data`` are complete blocks (the rest waits for the next read)."""
    start = 0
    while start + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, start)
        if start + _LENGTH.size + length > len(data):
            break
        start += _LENGTH.size + length
    return start


def merge(segments: list[Iterator[Entry]]) -> Iterator[Entry]:
    """Entries of one partition from all map tasks, by hash and, within a hash, by task."""
    return heapq.merge(*segments, key=by_hash)


def groups_at_hand(segments: Iterable[bytes | memoryview]) -> Iterator[tuple[Hashable, Iterator[Any]]]:
    """As ``groups`` over the merge of whole segments in order of task, for what fits in memory: a dict does both."""
    entries = [entry for segment in segments for entry in decode_segment(segment)]
    entries.sort(key=by_hash)
    found: dict[Hashable, list[Any]] = {}
    for _, key, values in entries:
        key = canonical(key)  # noqa: PLW2901
        known = found.get(key)
        if known is None:
            found[key] = values
        else:
            known += values
    return ((key, iter(values)) for key, values in found.items())


def groups(entries: Iterable[Entry]) -> Iterator[tuple[Hashable, Iterator[Any]]]:
    """Each key once, with its values in item order, from entries in order of hash.

    The values are a one-shot iterator, and what the caller leaves unread of it is skipped. Keys of the same hash (a
    collision) are told apart by equality, which needs the values of the later ones in memory.
    """
    stream = _Peekable(entries)
    while (head := stream.peek()) is not None:
        hashed = head[0]
        waiting: dict[Hashable, list[Any]] = {}
        key = canonical(head[1])
        values = _values(stream, hashed, key, waiting)
        yield key, values
        for _ in values:
            pass
        for other, kept in waiting.items():
            yield other, iter(kept)


def _values(
    stream: _Peekable, hashed: int, key: Hashable, waiting: dict[Hashable, list[Any]]
) -> Iterator[Any]:
    while (head := stream.peek()) is not None and head[0] == hashed:
        stream.take()
        other = canonical(head[1])
        # Identity first: the one NaN that all NaNs became is still not equal to itself.
        if other is key or other == key:
            yield from head[2]
        else:
            waiting.setdefault(other, []).extend(head[2])


class _Peekable:
    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = iter(entries)
        self._head = next(self._entries, None)

    def peek(self) -> Entry | None:
        return self._head

    def take(self) -> None:
        self._head = next(self._entries, None)


def _blocks(segment: list[Entry]) -> Iterator[list[Entry]]:
    block: list[Entry] = []
    size = 0
    for hashed, key, values in segment:
        for start in range(0, len(values), _BLOCK_VALUES):
            piece = values[start : start + _BLOCK_VALUES]
            block.append((hashed, key, piece))
            size += len(piece)
            if len(block) >= _BLOCK_ENTRIES or size >= _BLOCK_VALUES:
                yield block
                block, size = [], 0
    if block:
        yield block


def _pickled(block: list[Entry], most_bytes: int) -> Iterator[bytes]:
    """A block in bytes; in several, as far as it can be divided, if it has too many."""
    data = pickle.dumps(block, protocol=5)
    if len(data) <= most_bytes or (len(block) == 1 and len(block[0][2]) == 1):
        yield data
        return
    del data
    for half in _halves(block):
        yield from _pickled(half, most_bytes)


def _halves(block: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    if len(block) > 1:
        return block[: len(block) // 2], block[len(block) // 2 :]
    ((hashed, key, values),) = block
    middle = len(values) // 2
    return [(hashed, key, values[:middle])], [(hashed, key, values[middle:])]


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(
            f"the map function must give (key, value) pairs; it gave {type(pair).__name__}: {pair!r:.80}"
        )
    return pair[0], pair[1]


def _hashable(key: Any) -> Hashable:
    try:
        hash(key)
    except TypeError:
        raise TypeError(
            f"a key of type {type(key).__name__} cannot be grouped, because it cannot be hashed; "
            "use a tuple for a list and a frozenset for a set"
        ) from None
    return key  # type: ignore[no-any-return]
