"""Text encodings, seen from someone who must find a delimiter in the middle of an object.

A search for the delimiter's bytes is safe where those bytes can't be part of another character: in UTF-8, in all
single-byte encodings, and in UTF-16 and UTF-32 at multiples of the code unit (U+0A00 to U+0AFF hold the byte of a
newline, and so do pairs of characters). In Shift-JIS, GB 18030, UTF-7 and their like it is not safe, so objects in
those are read from their start and never cut.
"""

from __future__ import annotations

import codecs
import sys
from dataclasses import dataclass
from functools import lru_cache

from bellwren.errors import InputError

ERROR_HANDLERS = ("surrogateescape", "strict", "replace", "ignore", "backslashreplace")
"""What may become of bytes that the encoding does not know. The first is the default: it loses nothing."""

HEAD_BYTES = 4
"""Bytes at the start of an object that decide on its byte order mark."""

_MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
_WITHOUT_TABLE = ("utf-8", "ascii", "iso8859-1")


@dataclass(frozen=True)
class Encoding:
    """What splitting must know of a codec."""

    codec: str
    """Python's own name of it."""
    unit: int
    """Bytes of a code unit: characters begin at multiples of it, counted from the start of the object."""
    cuttable: bool
    """Whether a delimiter can be found from the middle of an object."""

    @property
    def settled(self) -> bool:
        """Whether the byte order is known without a look at the object's first bytes."""
        return self.codec not in ("utf-16", "utf-32")


@lru_cache
def encoding(name: str) -> Encoding:
    """Look an encoding up.

    Raises:
        LookupError: if Python has no text encoding of that name.
    """
    info = codecs.lookup(name)
    if not getattr(info, "_is_text_encoding", True):
        raise LookupError(f"{name!r} turns bytes into bytes, not into text")
    codec = {"utf-8-sig": "utf-8"}.get(info.name, info.name)
    if codec.startswith(("utf-16", "utf-32")):
        return Encoding(codec, 2 if codec.startswith("utf-16") else 4, cuttable=True)
    module = sys.modules.get(getattr(info.incrementaldecoder, "__module__", ""))
    single_byte = codec in _WITHOUT_TABLE or hasattr(module, "decoding_table")
    return Encoding(codec, 1, cuttable=single_byte)


def settle(name: str, head: bytes) -> tuple[Encoding, int]:
    """The encoding of one object and the length of its byte order mark, from its first ``HEAD_BYTES`` bytes.

    ``utf-16`` and ``utf-32`` without a mark are little-endian, as Python reads them on every machine that we run on.
    """
    declared = encoding(name)
    if not declared.settled:
        big = head.startswith(_MARKS[f"{declared.codec}-be"])
        declared = encoding(f"{declared.codec}-{'be' if big else 'le'}")
    mark = _MARKS.get(declared.codec)
    return declared, len(mark) if mark and head.startswith(mark) else 0


def byte_of(known: Encoding, character: str, errors: str) -> bytes | None:
    """The one byte that decodes to ``character`` wherever it stands and is the only way to it, or None."""
    if not known.cuttable or known.unit > 1 or len(character) != 1:
        return None
    if errors == "backslashreplace" and character in "\\x0123456789abcdef":
        return None
    try:
        byte = character.encode(known.codec)
    except UnicodeError:
        return None
    if known.codec == "utf-8":
        return byte if len(byte) == 1 else None
    every = bytes(range(256)).decode(known.codec, "replace")
    return byte if every.count(character) == 1 else None


def undecodable(name: str, error: UnicodeError, offset: int | None) -> InputError:
    """The error for bytes that the declared encoding does not allow. ``offset`` is where the decoded bytes begin."""
    at = "" if offset is None else f" at byte {offset + getattr(error, 'start', 0):,}"
    codec = getattr(error, "encoding", "its encoding")
    return InputError(
        f"{name}: not valid {codec}{at} ({getattr(error, 'reason', error)}); declare the object's own encoding,"
        ' or say errors="replace", or encoding=None to get bytes'
    )
