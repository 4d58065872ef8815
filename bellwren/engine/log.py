"""What user code prints, within a bound."""

from __future__ import annotations

_LOG_LIMIT = 64 * 1024


class Log:
    """The first half and the last half of the limit, and how much was left out between."""

    def __init__(self, limit: int = _LOG_LIMIT) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Take output; memory stays within the limit whatever comes."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._dropped += excess

    def text(self) -> bytes:
        """All of it."""
        note = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return bytes(self._head) + note + bytes(self._tail)

    def take(self) -> bytes:
        """All of it, and start afresh."""
        text = self.text()
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
        return text
