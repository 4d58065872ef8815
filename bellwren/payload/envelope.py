"""The bytes of a payload: a header in JSON that is read before anything is unpickled, then the parts it points to.

    MAGIC | header length u64 | header | parts

The parts are the pickle of the function, its large buffers (arrays), the sources of the user's own modules and what
was changed in them.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bellwren.errors import PayloadError

MAGIC = b"BWPAYLD1"
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class ShippedModule:
    """A module of the user's own, as it travels."""

    name: str
    file: str
    """Where it was on the client, for tracebacks; empty for a namespace package."""
    is_package: bool
    text: bytes
    changed: bytes
    """Pickle of what the client set in it (`bellwren.payload.state`); maybe empty."""


@dataclass(frozen=True)
class Envelope:
    """A payload taken apart; the buffers are views of its bytes."""

    python: str
    cloudpickle: str
    name: str
    """What the function is called, for people."""
    pickle: memoryview
    buffers: tuple[memoryview, ...]
    writable: tuple[bool, ...]
    modules: tuple[ShippedModule, ...]
    lines: Mapping[str, Sequence[tuple[int, Sequence[str]]]]
    """Source lines of the shipped functions by file: (number of the first, lines)."""


def seal(
    head: Mapping[str, Any],
    pickle: Sequence[bytes],
    buffers: Sequence[memoryview],
    modules: Sequence[ShippedModule],
) -> bytes:
    """Join the parts; large ones are copied once, here."""
    parts: list[bytes | memoryview] = []
    end = 0

    def place(*pieces: bytes | memoryview) -> list[int]:
        nonlocal end
        start = end
        parts.extend(pieces)
        end += sum(map(len, pieces))
        return [start, end - start]

    header = dict(head)
    header["modules"] = [
        {
            "name": module.name,
            "file": module.file,
            "package": module.is_package,
            "text": place(zlib.compress(module.text)),
            "changed": place(module.changed),
        }
        for module in modules
    ]
    header["pickle"] = place(*pickle)
    header["buffers"] = [[*place(buffer), not buffer.readonly] for buffer in buffers]
    encoded = json.dumps(header, sort_keys=True).encode()
    return b"".join([MAGIC, _LENGTH.pack(len(encoded)), encoded, *parts])


def header_bytes(data: bytes | memoryview) -> int:
    """Bytes up to the end of the header of a payload, from its first sixteen. PayloadError if it is none."""
    start = len(MAGIC) + _LENGTH.size
    if bytes(data[: len(MAGIC)]) != MAGIC or len(data) < start:
        raise PayloadError(f"{bytes(data[:8])!r}... is no payload of this version ({MAGIC!r})")
    return start + int(_LENGTH.unpack(data[len(MAGIC) : start])[0])


def header(data: bytes | memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header and the parts of a payload. PayloadError if it is none."""
    view = memoryview(data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise PayloadError(f"{bytes(view[:8])!r}... is no payload of this version ({MAGIC!r})")
    start = len(MAGIC) + _LENGTH.size
    try:
        (length,) = _LENGTH.unpack(view[len(MAGIC) : start])
        return json.loads(bytes(view[start : start + length])), view[start + length :]
    except (struct.error, ValueError) as error:
        raise PayloadError(f"the header of a payload of {len(view)} bytes cannot be read: {error}") from error


def unseal(data: bytes | memoryview) -> Envelope:
    """Take a payload apart, unpickling nothing. PayloadError if it is none."""
    head, body = header(data)

    def part(place: Sequence[int]) -> memoryview:
        return body[place[0] : place[0] + place[1]]

    return Envelope(
        python=head["python"],
        cloudpickle=head["cloudpickle"],
        name=head["name"],
        pickle=part(head["pickle"]),
        buffers=tuple(part(place) for place in head["buffers"]),
        writable=tuple(bool(place[2]) for place in head["buffers"]),
        modules=tuple(
            ShippedModule(
                entry["name"],
                entry["file"],
                entry["package"],
                zlib.decompress(part(entry["text"])),
                bytes(part(entry["changed"])),
            )
            for entry in head["modules"]
        ),
        lines={file: [(first, text) for first, text in pieces] for file, pieces in head["lines"].items()},
    )
