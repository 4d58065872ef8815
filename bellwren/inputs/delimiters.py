"""Where the lines of an object begin, asked from anywhere in the object.

The rule. A single pass takes the first delimiter in the object, then the first one behind that, and so on; a line
begins at byte 0 and behind each delimiter taken. ``B(x)`` is the first line start at or after ``x`` (the object's size
if there is none), and the chunk that planning cut as ``[x, y)`` reads the bytes ``[B(x), B(y))``.

Why it is exact. Neighbouring chunks ask the same question of the same byte, so their ranges meet with nothing between
and nothing twice: the chunks joined are the object. Each range begins at a line start and ends at one, so splitting it
gives whole lines, the very ones of a single pass. A line longer than a chunk belongs to the chunk in which it begins;
the others on its way find ``B(x) == B(y)`` and yield nothing. (Hadoop's LineRecordReader skips the first partial line
and reads one past the end; that is the same partition for one-byte delimiters, and went wrong for ``\\r\\n`` and longer
ones in several systems, because "did the previous reader take this delimiter?" was answered differently by the two.)

The one difficulty: a delimiter that overlaps itself (``\\n\\n``, ``aa``, ``aba``). Which occurrences a single pass
takes then depends on what came before. An occurrence with no other one overlapping it from the left is always taken, so
the chain of overlapping occurrences is followed leftwards to such a one, and the single pass is replayed from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Need(Enum):
    """The window does not decide the question."""

    AHEAD = auto()
    """More bytes behind it are needed."""
    BEHIND = auto()
    """More bytes before it are needed."""


@dataclass(frozen=True)
class LineRule:
    """A delimiter, as bytes."""

    delimiter: bytes
    unit: int = 1
    """The delimiter counts only at multiples of this many bytes from the start of the object."""

    @property
    def overlaps(self) -> bool:
        """Whether two occurrences of the delimiter can overlap: a proper prefix of it is also its suffix."""
        d = self.delimiter
        return any(d[: len(d) - shift] == d[shift:] for shift in range(self.unit, len(d), self.unit))

    def look_behind(self, at: int) -> int:
        """Where a window for ``next_start(at)`` should begin: a multiple of ``unit``."""
        reach = 2 * len(self.delimiter) if self.overlaps else len(self.delimiter)
        low = max(0, at - reach)
        return low - low % self.unit

    def next_start(self, window: bytes, low: int, at: int) -> int | Need:
        """``B(at)`` from the bytes ``[low, low + len(window))`` of the object.

        ``low`` is a multiple of ``unit`` and at most ``look_behind(at)``. Need.AHEAD at the end of the object means
        that there is no further line start.
        """
        length = len(self.delimiter)
        taken = self._find(window, max(0, at - length - low))
        if taken < 0:
            return Need.AHEAD
        if self.overlaps:
            sure = self._sure(window, low, taken)
            if isinstance(sure, Need):
                return sure
            taken = sure
            while low + taken + length < at:
                taken = self._find(window, taken + length)
                if taken < 0:
                    return Need.AHEAD
        return low + taken + length

    def _sure(self, window: bytes, low: int, occurrence: int) -> int | Need:
        """The leftmost of the chain of overlapping occurrences that leads to this one."""
        length = len(self.delimiter)
        while True:
            reach = max(0, occurrence - length + 1)
            before = self._rfind(window, reach, occurrence + length - 1)
            if before >= 0:
                occurrence = before
            elif low > 0 and occurrence < length - 1:
                return Need.BEHIND
            else:
                return occurrence

    def _find(self, window: bytes, start: int) -> int:
        found = window.find(self.delimiter, start)
        while found >= 0 and found % self.unit:
            found = window.find(self.delimiter, found + 1)
        return found

    def _rfind(self, window: bytes, start: int, end: int) -> int:
        found = window.rfind(self.delimiter, start, end)
        while found >= 0 and found % self.unit:
            found = window.rfind(self.delimiter, start, found + len(self.delimiter) - 1)
        return found
