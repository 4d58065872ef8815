"""The container of item files and result parts: numbered frames of bytes, one for each item.

A container is ``MAGIC`` and a version byte, then frames, then one END frame that says how many there were::

    frame = kind u8 | length u64 | crc32 u32 | bytes      (little endian; crc of kind, length and bytes)

So a container that was cut off, even between two frames, or damaged in any byte, is told from a whole one.
The index (the byte offset of every k-th frame) turns a range of items into one ranged read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO, NamedTuple

from bellwren.errors import InputError

MAGIC = b"BWF"
VERSION = 1
HEADER = MAGIC + bytes([VERSION])
INDEX_LIMIT = 4096
"""Most offsets that an index holds: with more frames than this, only every 2nd, 4th, 8th... is kept."""

_FRAME = struct.Struct("<BQI")
_COUNTED = struct.Struct("<BQ")
_LARGEST_BYTES = 1 << 40  # no item is a TiB: a greater length is a damaged one
_PIECE_BYTES = 1 << 24


class Kind(IntEnum):
    """What a frame holds."""

    VALUE = 1
    """A value, encoded by the container's codec."""
    FAILURE = 2
    """A failed item: ``bellwren.payload.failure`` encodes it."""
    NONE = 3
    """The value None, in no bytes at all: it keeps its place whatever the codec."""
    END = 4
    """Last frame of a container: the number of frames before it."""


class Frame(NamedTuple):
    """One item, or one result."""

    kind: Kind
    data: bytes


class Span(NamedTuple):
    """The one ranged read that covers a range of items."""

    start: int
    """First byte to read."""
    stop: int
    """One past the last byte to read."""
    skip: int
    """Frames at its beginning that belong to earlier items."""


@dataclass(frozen=True)
class Index:
    """Where the frames of a container are."""

    count: int
    """Number of frames."""
    size_bytes: int
    """Bytes up to the end of the last frame; the END frame follows."""
    every: int
    """``offsets[i]`` is where frame ``i * every`` starts."""
    offsets: tuple[int, ...]

    def span(self, start: int, stop: int) -> Span:
        """The read that covers frames ``start`` to ``stop`` (exclusive); ValueError if there are none."""
        if not 0 <= start <= stop <= self.count:
            raise ValueError(f"frames {start} to {stop} are not within the container's {self.count} frames")
        if start == stop:
            return Span(0, 0, 0)
        first = start // self.every
        last = -(-stop // self.every)
        end = self.offsets[last] if last < len(self.offsets) else self.size_bytes
        return Span(self.offsets[first], end, start - first * self.every)

    def as_dict(self) -> dict[str, Any]:
        """The form in which an index stands in a JSON document."""
        return {
            "count": self.count,
            "size_bytes": self.size_bytes,
            "every": self.every,
            "offsets": list(self.offsets),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Index:
        """The inverse of `as_dict`."""
        return cls(document["count"], document["size_bytes"], document["every"], tuple(document["offsets"]))


class FrameWriter:
    """Writes a container through ``write(bytes)``, in the memory of one frame, and keeps its index."""

    def __init__(self, write: Callable[[bytes], object], *, index_limit: int = INDEX_LIMIT) -> None:
        self._write = write
        self._limit = index_limit
        self._every = 1
        self._offsets: list[int] = []
        self._count = 0
        self._size = len(HEADER)
        write(HEADER)

    @property
    def count(self) -> int:
        """Frames written so far."""
        return self._count

    @property
    def size_bytes(self) -> int:
        """Bytes written so far."""
        return self._size

    def add(self, kind: Kind, data: bytes = b"") -> None:
        """Append one frame."""
        if self._count % self._every == 0:
            if len(self._offsets) == self._limit:
                self._offsets = self._offsets[::2]
                self._every *= 2
            if self._count % self._every == 0:
                self._offsets.append(self._size)
        write_frame(self._write, kind, data)
        self._count += 1
        self._size += _FRAME.size + len(data)

    def close(self) -> Index:
        """Write the END frame and return the index."""
        write_frame(self._write, Kind.END, struct.pack("<Q", self._count))
        return Index(self._count, self._size, self._every, tuple(self._offsets))


def write_frame(write: Callable[[bytes], object], kind: Kind, data: bytes = b"") -> None:
    """Write one frame. Large data is written as it is, with no copy."""
    head = _FRAME.pack(kind, len(data), zlib.crc32(data, zlib.crc32(_COUNTED.pack(kind, len(data)))))
    if len(data) < _PIECE_BYTES:
        write(head + data)
    else:
        write(head)
        write(data)


def read_frames(source: BinaryIO | Iterable[bytes], *, name: str = "the container") -> Iterator[Frame]:
    """Every frame of a whole container, in the memory of one frame.

    ``source`` is a binary file, or the pieces of one in order (a download). InputError, naming ``name``,
    where it is no container, is cut off or damaged.
    """
    read = _exactly(source.read if hasattr(source, "read") else _Pieces(source).read)
    header = read(len(HEADER))
    if header != HEADER:
        raise InputError(f"{name} begins with {header!r}, not {HEADER!r}: it is no container of this version")
    number = 0
    while True:
        frame = _next_frame(read, name, number)
        if frame is None:
            raise InputError(f"{name} is cut off after {number} frame(s): its END frame is missing")
        if frame.kind is Kind.END:
            if frame.data != struct.pack("<Q", number):
                raise InputError(f"{name} is damaged: its END frame does not count its {number} frame(s)")
            if read(1):
                raise InputError(f"{name} is damaged: bytes follow its END frame")
            return
        yield frame
        number += 1


def read_span(
    data: bytes | memoryview, count: int, *, skip: int = 0, name: str = "the range"
) -> Iterator[Frame]:
    """``count`` frames of the bytes of one ranged read, after its first ``skip`` (see `Index.span`)."""
    position = 0
    view = memoryview(data)

    def read(size: int) -> bytes:
        nonlocal position
        piece = bytes(view[position : position + size])
        position += size
        return piece

    for number in range(skip + count):
        frame = _next_frame(read, name, number)
        if frame is None or frame.kind is Kind.END:
            raise InputError(f"{name} holds {number} frame(s), {skip + count} were expected")
        if number >= skip:
            yield frame


def _next_frame(read: Callable[[int], bytes], name: str, number: int) -> Frame | None:
    head = read(_FRAME.size)
    if not head:
        return None
    if len(head) < _FRAME.size:
        raise InputError(f"{name} is cut off within the head of frame {number}")
    kind, length, crc = _FRAME.unpack(head)
    if length > _LARGEST_BYTES:
        raise InputError(f"{name} is damaged: frame {number} claims {length} bytes")
    data = read(length)
    if len(data) < length:
        raise InputError(f"{name} is cut off: frame {number} has {len(data)} of its {length} bytes")
    if zlib.crc32(data, zlib.crc32(_COUNTED.pack(kind, length))) != crc:
        raise InputError(f"{name} is damaged: frame {number} does not match its checksum")
    if kind not in _KINDS:
        raise InputError(f"{name} has a frame {number} of kind {kind}; known are {sorted(_KINDS)}")
    return Frame(_KINDS[kind], data)


_KINDS = {int(kind): kind for kind in Kind}


def _exactly(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Reads until ``size`` bytes are there or the source ends: a download gives fewer at a time.

    A great length is read in pieces, so that a damaged one costs no more memory than the source has bytes.
    """

    def read_exactly(size: int) -> bytes:
        first = read(min(size, _PIECE_BYTES)) if size else b""
        if len(first) == size:
            return first
        pieces, missing = [first], size - len(first)
        while missing and pieces[-1]:
            pieces.append(read(min(missing, _PIECE_BYTES)))
            missing -= len(pieces[-1])
        return b"".join(pieces)

    return read_exactly


class _Pieces:
    """Reads from the pieces of a download as from a file."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = memoryview(piece)
        taken, self._rest = self._rest[:size], self._rest[size:]
        return bytes(taken)
