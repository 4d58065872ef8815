"""What a task has produced so far: held while it runs, kept in storage when it is interrupted, joined in the end."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bellwren.engine.log import Log

MAX_REPORTED_FAILURES = 200
_LENGTH = struct.Struct("<I")


@dataclass
class Progressed:
    """Results of the positions ``[start, consumed)`` of a task, in order."""

    start: int = 0
    consumed: int = 0
    """The first position without a result yet."""
    parts: list[bytes | memoryview] = field(default_factory=list)
    """Results as they stand in the output."""
    count: int = 0
    """Results in ``parts``, failures included; not the number of positions where one gives several results."""
    failed: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    """The first ``MAX_REPORTED_FAILURES`` of them."""
    complete: bool = False
    """Whether ``consumed`` is the end of the task."""
    shuffled: bytes | memoryview | None = None
    """For a shuffle the object of everything so far, instead of ``parts``."""
    log: Log = field(default_factory=Log)
    """What user code printed."""
    compute_s: float = 0.0
    lost_runners: int = 0
    peak_mb: int = 0
    """Most memory that a runner of the task has had, what it shares with others included."""

    @property
    def size(self) -> int:
        """Bytes of what was produced."""
        return len(self.shuffled) if self.shuffled is not None else sum(map(len, self.parts))

    def add_failures(self, failures: Iterable[dict[str, Any]]) -> None:
        """Count failures, and keep as many as are reported."""
        for failure in failures:
            self.failed += 1
            if self.failures:
                failure.pop("exception", None)  # one is enough: the job's error is its first failure
            if len(self.failures) < MAX_REPORTED_FAILURES:
                self.failures.append(failure)

    def absorb(self, other: Progressed) -> None:
        """Go on with what somebody else has from ``consumed`` on."""
        assert other.start == self.consumed
        self.consumed = other.consumed
        self.parts += other.parts
        self.count += other.count
        hidden = other.failed - len(other.failures)
        self.add_failures(other.failures)
        self.failed += hidden
        self.complete = other.complete
        self.shuffled = other.shuffled
        self.log.write(other.log.text())

    def as_bytes(self) -> bytes:
        """The object that is kept in storage."""
        log = self.log.text()
        data = [self.shuffled] if self.shuffled is not None else self.parts
        head = json.dumps(
            {
                "start": self.start,
                "consumed": self.consumed,
                "count": self.count,
                "failed": self.failed,
                "failures": self.failures,
                "complete": self.complete,
                "shuffled": self.shuffled is not None,
                "log_bytes": len(log),
            }
        ).encode()
        return b"".join([_LENGTH.pack(len(head)), head, log, *data])

    @staticmethod
    def from_bytes(data: bytes) -> Progressed:
        """Read back what ``as_bytes`` gave."""
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        results = _LENGTH.size + length + head.pop("log_bytes")
        shuffled = head.pop("shuffled")
        made = Progressed(**head)
        made.log.write(data[_LENGTH.size + length : results])
        if shuffled:
            made.shuffled = data[results:]
        else:
            made.parts.append(data[results:])
        return made


def chain(pieces: Iterable[Progressed], start: int = 0) -> tuple[Progressed, list[Progressed]]:
    """Join pieces from ``start`` on as far as they reach; also those that lie further on, behind a gap."""
    joined = Progressed(start=start, consumed=start)
    later: list[Progressed] = []
    for piece in sorted(pieces, key=lambda one: one.start):
        if piece.start == joined.consumed and not joined.complete:
            joined.absorb(piece)
        elif piece.start > joined.consumed:
            later.append(piece)
    return joined, later
