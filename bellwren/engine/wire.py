"""How supervisor and runner talk: length-prefixed frames on a socket pair.

A frame is a kind (one byte), a length (eight bytes) and that many bytes. A frame with a header document starts with the
document's length, so that one frame can carry a few named scalars and many megabytes without copying either twice.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from enum import IntEnum
from typing import Any

from bellwren.buffers import buffer

_FRAME = struct.Struct(">BQ")
_LENGTH = struct.Struct(">I")
_MOST_BYTES = 10 << 30
"""No environment of Lambda has more memory than that."""


class Kind(IntEnum):
    """What a frame says. Below 10 the supervisor speaks, from 10 on the runner."""

    SETUP = 1
    TASK = 2
    BLOCK = 3
    GO = 4
    READY = 10
    REFUSED = 11
    RESULTS = 12
    DONE = 13
    NEED = 14
    STEP = 15
    ASK = 16


class Closed(ConnectionError):
    """The other side is gone."""


def send(
    sock: socket.socket, kind: Kind, head: dict[str, Any] | None = None, *parts: bytes | memoryview
) -> None:
    """Send one frame, blocking (the runner's side)."""
    document = json.dumps(head or {}).encode()
    length = _LENGTH.size + len(document) + sum(len(part) for part in parts)
    sock.sendall(_FRAME.pack(kind, length) + _LENGTH.pack(len(document)) + document)
    for part in parts:
        sock.sendall(part)


def receive(sock: socket.socket) -> tuple[Kind, dict[str, Any], memoryview]:
    """Wait for one frame, blocking (the runner's side).

    Raises:
        Closed: if the supervisor is gone.
    """
    kind, length = _FRAME.unpack(_exactly(sock, _FRAME.size))
    return _opened(Kind(kind), _exactly(sock, length))


async def write(sock: socket.socket, kind: Kind, head: dict[str, Any], *parts: bytes | memoryview) -> None:
    """Send one frame (the supervisor's side); the socket does not block."""
    loop = asyncio.get_running_loop()
    document = json.dumps(head).encode()
    length = _LENGTH.size + len(document) + sum(len(part) for part in parts)
    await loop.sock_sendall(sock, _FRAME.pack(kind, length) + _LENGTH.pack(len(document)) + document)
    for part in parts:
        await loop.sock_sendall(sock, part)


async def read(sock: socket.socket) -> tuple[Kind, dict[str, Any], memoryview]:
    """Wait for one frame (the supervisor's side). Its bytes are received where they stay, and not copied.

    Raises:
        Closed: if the runner is gone, also in the middle of a frame, or what it sent is none, or larger than memory.
    """
    try:
        kind, length = _FRAME.unpack(await _receive(sock, _FRAME.size))
        if length > _MOST_BYTES:
            raise Closed  # no runner of ours writes such a frame: user code wrote to the line
        return _opened(Kind(kind), await _receive(sock, length))
    except (ConnectionError, MemoryError, ValueError, struct.error) as error:
        raise Closed from error


async def _receive(sock: socket.socket, length: int) -> memoryview:
    loop = asyncio.get_running_loop()
    data = view = buffer(length)
    while view:
        count = await loop.sock_recv_into(sock, view)
        if not count:
            raise Closed
        view = view[count:]
    return data


def _opened(kind: Kind, frame: memoryview) -> tuple[Kind, dict[str, Any], memoryview]:
    (length,) = _LENGTH.unpack_from(frame)
    head = json.loads(bytes(frame[_LENGTH.size : _LENGTH.size + length]))
    return kind, head, frame[_LENGTH.size + length :]


def _exactly(sock: socket.socket, length: int) -> memoryview:
    data = view = buffer(length)
    while view:
        count = sock.recv_into(view)
        if not count:
            raise Closed
        view = view[count:]
    return data
