"""Compressed objects: recognised by their first bytes, read as a stream, in bounded memory.

gzip and bzip2 objects may hold several members one after the other (``cat a.gz b.gz``, WARC, pbzip2); zstd ones several
frames. An object that ends within a member is an error, never a shorter input.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from bellwren.errors import InputError
from bellwren.inputs.streams import with_head

COMPRESSIONS = ("none", "gzip", "bzip2", "zstd")

MAGIC_BYTES = 10
"""Bytes at the start of an object that decide on its compression."""
OUTPUT_BYTES = 1 << 20
"""The most that is decompressed at once, however well the data was compressed."""

_INPUT_BYTES = 1 << 16
_GZIP = b"\x1f\x8b\x08"
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # the marks of a first block and of an empty stream
_ZSTD = b"\x28\xb5\x2f\xfd"


def recognise(head: bytes) -> str:
    """The compression of an object, from its first ``MAGIC_BYTES`` bytes; its name says nothing."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(b"BZh") and head[3:4] in b"123456789" and head[4:10] in _BZIP2_BLOCKS:
        return "bzip2"
    skippable = len(head) >= 4 and head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18"
    return "zstd" if head.startswith(_ZSTD) or skippable else "none"


def decompressed(pieces: Iterable[bytes], compression: str, name: str) -> Iterator[bytes]:
    """The content of an object from its bytes.

    Args:
        pieces: the whole object.
        compression: ``auto`` or one of ``COMPRESSIONS``.
        name: the object, for errors.

    Raises:
        InputError: if the object is damaged, truncated, or not of the declared compression.
    """
    head, pieces = with_head(pieces, MAGIC_BYTES)
    found = recognise(head)
    if compression == "auto":
        compression = found
    elif compression not in ("none", found):
        raise InputError(
            f"{name}: declared as {compression}, but begins with {head[:4].hex(' ')}, which is not that;"
            ' use compression="auto"'
        )
    if compression == "none":
        return iter(pieces)
    return _members(pieces, _MEMBER[compression], compression, name)


class _Member(Protocol):
    """One member of a compressed object, as ``bz2.BZ2Decompressor`` does it."""

    def decompress(self, data: bytes, max_length: int) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _GzipMember:
    """zlib with the interface of bz2: it keeps the input that it has not come to."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


class _ZstdFrame:
    """zstandard with the interface of bz2. It has no output limit, so it gets its input in crumbs."""

    def __init__(self) -> None:
        try:
            import zstandard  # noqa: PLC0415  an extra
        except ImportError as error:
            raise InputError(
                "zstd needs the package zstandard where the job runs; add it to the job's `requirements`"
                " (pip install bellwren[zstd] for your own machine)"
            ) from error
        self._frame: Any = zstandard.ZstdDecompressor().decompressobj()
        self._error: type[Exception] = zstandard.ZstdError
        self._waiting = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._waiting += data
        out: list[bytes] = []
        have = 0
        while self._waiting and have < max_length and not self._frame.eof:
            crumb, self._waiting = self._waiting[:_CRUMB_BYTES], self._waiting[_CRUMB_BYTES:]
            try:
                out.append(self._frame.decompress(crumb))
            except self._error as error:
                raise OSError(str(error)) from error
            have += len(out[-1])
        return b"".join(out)

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + self._waiting


_CRUMB_BYTES = (
    256  # a zstd block is at most 128 KiB and takes at least 4 bytes: at most 8 MiB of output for each crumb
)

_MEMBER: dict[str, Callable[[], _Member]] = {
    "gzip": _GzipMember,
    "bzip2": bz2.BZ2Decompressor,
    "zstd": _ZstdFrame,
}


def _members(
    pieces: Iterable[bytes], start: Callable[[], _Member], compression: str, name: str
) -> Iterator[bytes]:
    member: _Member | None = None
    count = offset = 0
    for piece in pieces:
        for at in range(0, len(piece), _INPUT_BYTES):
            data = piece[at : at + _INPUT_BYTES]
            offset += len(data)
            while data or (member and not member.needs_input):
                if member is None:
                    # Padding between members and behind the last one (tapes, block devices) is zeros.
                    data = data.lstrip(b"\0") if count else data
                    if not data:
                        break
                    member = start()
                    count += 1
                try:
                    out = member.decompress(data, OUTPUT_BYTES)
                except (zlib.error, OSError) as error:
                    raise _damaged(name, compression, count, offset, error) from error
                if out:
                    yield out
                data = b""
                if member.eof:
                    data, member = member.unused_data, None
    if member is not None:
        raise InputError(
            f"{name}: the {compression} data ends in the middle of member {count} after {offset:,} bytes;"
            " the object is truncated. Nothing of it is used; put the whole object"
        )


def _damaged(name: str, compression: str, count: int, offset: int, error: Exception) -> InputError:
    return InputError(
        f"{name}: damaged {compression} data in member {count} before byte {offset:,} ({error})"
    )
