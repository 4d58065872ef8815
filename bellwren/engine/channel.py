"""The runner's end of the line to its supervisor."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import socket
import sys
import time
from itertools import accumulate, pairwise
from typing import Any

from bellwren.engine import wire
from bellwren.engine.nursery import Progress
from bellwren.engine.wire import Kind

_FLUSH_S = 0.005
_FLUSH_BYTES = 256 << 10


class Paused(Exception):
    """The supervisor wants what there is before ``position``, and not more."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"paused before position {position}")


class Channel:
    """The runner's end: results go out soon, but not each one alone."""

    def __init__(self, sock: socket.socket, progress: Progress, slot: int, log_fd: int) -> None:
        self._sock = sock
        self._progress = progress
        self._slot = slot
        self._log_fd = log_fd
        self._pid = os.getpid()
        self._outputs = select.poll()
        for fd in (0, 1, 2):
            self._outputs.register(fd, 0)
        self._forget()
        self._flushed = time.monotonic()
        self.begin({})

    def begin(self, head: dict[str, Any]) -> None:
        """Take up a task: ``stop`` is the position before which it ends, ``ask_at`` the first that needs a permit."""
        self._stop: int | None = head.get("stop")
        self._ask_at: int | None = head.get("ask_at")

    def at(self, position: int) -> None:
        """Note which position comes next, and send what has gathered if it has gathered long enough.

        Raises:
            Paused: if this position is not to be run now.
        """
        self._end_if_forked()
        self._mend_outputs()
        now = time.monotonic()
        if self._consumed and (now - self._flushed > _FLUSH_S or self._bytes > _FLUSH_BYTES):
            self.flush()
        if position == self._stop or self._progress.pause_asked(self._slot):
            raise Paused(position)
        if self._ask_at is not None and position >= self._ask_at:
            self._ask(position)
            now = time.monotonic()
        self._progress.set(self._slot, position, now)

    def free_run(self, position: int, most: int) -> int:
        """How many positions from ``position`` on, of at most ``most``, may pass without a look at the line."""
        if self._ask_at is not None:
            return 1
        return most if self._stop is None or self._stop < position else min(most, self._stop - position)

    def mark(self, position: int) -> None:
        """Note which position comes next, of work that cannot be left in the middle."""
        self._end_if_forked()
        self._mend_outputs()
        self._progress.set(self._slot, position, time.monotonic())

    def result(self, encoded: bytes, failure: dict[str, Any] | None = None, *, results: int = 1) -> None:
        """Add what one position gave, in its final encoding; with ``failure`` if it failed."""
        self._end_if_forked()
        self._parts.append(encoded)
        self._consumed += 1
        self._count += results
        self._bytes += len(encoded)
        if failure:
            self._failures.append(failure)

    def results(self, encoded: bytes | memoryview, count: int) -> None:
        """Add what ``count`` positions gave, joined; none of them failed."""
        self._end_if_forked()
        self._parts.append(encoded)
        self._consumed += count
        self._count += count
        self._bytes += len(encoded)

    def flush(self) -> None:
        """Send what has gathered."""
        self._end_if_forked()
        if self._consumed:
            head = {"consumed": self._consumed, "count": self._count, "failures": self._failures}
            wire.send(self._sock, Kind.RESULTS, head, *self._parts)
        self._forget()
        self._flushed = time.monotonic()

    def done(self, head: dict[str, Any] | None = None, *body: bytes | memoryview) -> None:
        """Send the rest, and that the task has ended; the pieces of ``body`` arrive joined."""
        for stream in (sys.stdout, sys.stderr):
            # Whatever user code has made of them, and even if nothing: what it printed is to be in the log.
            with contextlib.suppress(Exception):
                stream.flush()
        self.flush()
        self._progress.set(self._slot, -1, 0.0)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        wire.send(self._sock, Kind.DONE, {**(head or {}), "peak_mb": peak_mb}, *body)

    def pull(self, segment: int) -> memoryview:
        """Ask the supervisor for the next blocks of a segment."""
        self._end_if_forked()
        wire.send(self._sock, Kind.NEED, {"segment": segment})
        return wire.receive(self._sock)[2]

    def ask(self, wanted: dict[str, Any]) -> list[memoryview]:
        """Ask the supervisor for several ranges of bytes at once."""
        self._end_if_forked()
        wire.send(self._sock, Kind.NEED, wanted)
        _, head, body = wire.receive(self._sock)
        ends = list(accumulate(head["sizes"], initial=0))
        return [body[start:end] for start, end in pairwise(ends)]

    def consult(self, head: dict[str, Any], *parts: bytes) -> tuple[dict[str, Any], memoryview]:
        """Have the supervisor do something in storage that the task needs before it can go on."""
        self._end_if_forked()
        wire.send(self._sock, Kind.ASK, head, *parts)
        _, answer, body = wire.receive(self._sock)
        return answer, body

    def _ask(self, position: int) -> None:
        """Have the supervisor note in storage that these positions come next, before they can do any harm."""
        self.flush()
        self._progress.set(self._slot, -1, 0.0)
        wire.send(self._sock, Kind.STEP, {"position": position})
        self._ask_at = wire.receive(self._sock)[1]["ask_at"]

    def _end_if_forked(self) -> None:
        """A fork of user code that returns into our code in the child ends there: the line is the parent's."""
        if os.getpid() != self._pid:
            os._exit(0)

    def _mend_outputs(self) -> None:
        """Give the next item its standard descriptors back, if one before has closed them."""
        found = self._outputs.poll(0)
        if found and any(event & select.POLLNVAL for _, event in found):
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                try:
                    os.fstat(fd)
                except OSError:
                    os.dup2(self._log_fd if fd else null, fd)
            if null > 2:
                os.close(null)

    def _forget(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._failures: list[dict[str, Any]] = []
        self._consumed = 0
        self._count = 0
        self._bytes = 0
