"""The runner's end of the line to its supervisor."""

from __future__ import annotations

import socket
import time
from typing import Any

from bellwren.engine import wire
from bellwren.engine.nursery import Progress
from bellwren.engine.wire import Kind

_FLUSH_S = 0.005
_FLUSH_BYTES = 256 << 10


class Channel:
    """The runner's end: results go out soon, but not each one alone."""

    def __init__(self, sock: socket.socket, progress: Progress, slot: int) -> None:
        self._sock = sock
        self._progress = progress
        self._slot = slot
        self._forget()
        self._flushed = time.monotonic()

    def at(self, position: int) -> None:
        """Note which position comes next, and send what has gathered if it has gathered long enough."""
        now = time.monotonic()
        if self._consumed and (now - self._flushed > _FLUSH_S or self._bytes > _FLUSH_BYTES):
            self.flush()
        self._progress.set(self._slot, position, now)

    def result(self, encoded: bytes, failure: dict[str, Any] | None = None, *, results: int = 1) -> None:
        """Add what one position gave, in its final encoding; with ``failure`` if it failed."""
        self._parts.append(encoded)
        self._consumed += 1
        self._count += results
        self._bytes += len(encoded)
        if failure:
            self._failures.append(failure)

    def flush(self) -> None:
        """Send what has gathered."""
        if self._consumed:
            head = {"consumed": self._consumed, "count": self._count, "failures": self._failures}
            wire.send(self._sock, Kind.RESULTS, head, *self._parts)
        self._forget()
        self._flushed = time.monotonic()

    def done(self, head: dict[str, Any] | None = None, body: bytes = b"") -> None:
        """Send the rest, and that the task has ended."""
        self.flush()
        self._progress.set(self._slot, -1, 0.0)
        wire.send(self._sock, Kind.DONE, head, body)

    def pull(self, segment: int) -> memoryview:
        """Ask the supervisor for the next blocks of a segment."""
        wire.send(self._sock, Kind.NEED, {"segment": segment})
        return wire.receive(self._sock)[2]

    def _forget(self) -> None:
        self._parts: list[bytes] = []
        self._failures: list[dict[str, Any]] = []
        self._consumed = 0
        self._count = 0
        self._bytes = 0
