"""Where CSV rows begin, exactly, in an object that can only be read from its start.

A line end within quotes ends no row, and in the middle of a file nobody can know whether that is within quotes. So one
pass over the object keeps the state of Python's own ``csv`` parser (its transitions, from CPython's ``_csv.c``, also
for quotes that RFC 4180 does not allow) and notes the first row start at or after each wished cut. The pass runs in
compiled regular expressions that leap from quote to quote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

State = Literal["row", "cr", "field", "plain", "quoted", "closed"]
"""Before a byte: at the start of a row; the same, behind a CR, so that an LF still belongs to the row before; at the
start of another field; within a field without quotes; within quotes; behind a quote within quotes (the field's end, or
the first half of a doubled quote)."""


_MANY = b"*+" if sys.version_info >= (3, 11, 5) else b"*"
"""Nothing is to be tried again, and so nothing kept for it. Older Pythons match some possessive groups wrongly
(python/cpython#106052); what they match with ``*`` is the same, in more memory."""


class RowStart(NamedTuple):
    """The beginning of a row."""

    offset: int
    """Bytes from the start of the object."""
    line: int
    """Line of the object, from 1."""


class Quotes:
    """The parser of one dialect. Delimiter and quote are one byte each; rows end with LF, CR or CR LF."""

    def __init__(self, delimiter: bytes, quote: bytes) -> None:
        d, q = re.escape(delimiter), re.escape(quote)
        ends = rb"\r\n" + d
        not_quote = rb"[^" + q + rb"]*+"
        within = not_quote + rb"(?:" + q + q + not_quote + rb")" + _MANY
        closing = q + rb"(?!" + q + rb")"
        rest = rb"[^" + ends + rb"]*+"
        self._quote = quote
        self._delimiter = delimiter
        self._within = re.compile(within)
        self._field_end = re.compile(rb"[" + ends + rb"]")
        field = rb"(?:" + q + within + closing + rest + rb"|(?!" + q + rb")" + rest + rb")"
        self._field = re.compile(field)
        self._fields = re.compile(rb"(?:" + d + field + rb")" + _MANY)
        # A quote opens a quoted field only at a field's start; elsewhere it is text, as is all up to the field's end.
        opened = rb"(?<=[" + ends + rb"])(" + q + within + closing + rb")" + rest
        text = rb"(?<![" + ends + rb"])" + q + rest
        self._skip = re.compile(
            rb"(?:" + not_quote + rb"(?:" + opened + rb"|" + text + rb"))" + _MANY + not_quote
        )

    def advance(self, data: bytes, start: int, end: int, state: State) -> State:
        """The state at ``end``, if it is ``state`` at ``start``."""
        if start == end:
            return state
        at, state = self._leave_quotes(data, start, end, state)
        if at == end or state in ("quoted", "closed"):
            return state
        skipped = self._skip.match(data, at, end)
        assert skipped is not None  # it matches the empty string
        if skipped.end() < end:
            return "quoted"  # it stops only before a quoted field that has no end here
        return "closed" if skipped.end(1) == end else self._state_behind(data[end - 1 : end])

    def next_row(self, data: bytes, start: int, state: State) -> tuple[int | None, State]:
        """The first row start at or after ``start``, or None and the state at the end of ``data``."""
        if state == "row":
            return start, "row"
        if state == "cr" and start < len(data):
            return start + (data[start : start + 1] == b"\n"), "row"
        at = self._row_end(data, start, state)
        if at is None or (at == len(data) - 1 and data.endswith(b"\r")):
            return None, self.advance(data, start, len(data), state)
        return at + (2 if data[at : at + 2] == b"\r\n" else 1), "row"

    def _row_end(self, data: bytes, start: int, state: State) -> int | None:
        end = len(data)
        at, state = self._leave_quotes(data, start, end, state)
        if state in ("quoted", "closed"):
            return None
        if state == "field":
            field = self._field.match(data, at)
            if field is None:
                return None
            at = field.end()
        fields = self._fields.match(data, at)
        assert fields is not None  # it matches the empty string
        at = fields.end()
        return at if data[at : at + 1] in (b"\r", b"\n") else None

    def _leave_quotes(self, data: bytes, start: int, end: int, state: State) -> tuple[int, State]:
        """Go on to where ``_skip`` can take over: a field's start or end. Or to ``end``, with the state there."""
        at = start
        if state in ("row", "cr", "field"):
            if at == end or data[at : at + 1] != self._quote:
                return at, state
            state, at = "quoted", at + 1
        elif state == "closed" and at < end and data[at : at + 1] == self._quote:
            state, at = "quoted", at + 1
        if state == "quoted":
            inner = self._within.match(data, at, end)
            assert inner is not None  # it matches the empty string
            at = inner.end()
            if at == end:
                return end, "quoted"
            at += 1
            if at == end:
                return end, "closed"
        found = self._field_end.search(data, at, end)
        return (end, "plain") if found is None else (found.start(), "plain")

    def _state_behind(self, last: bytes) -> State:
        if last == b"\n":
            return "row"
        if last == b"\r":
            return "cr"
        return "field" if last == self._delimiter else "plain"


@dataclass(frozen=True)
class RowRule:
    """How rows are found in CSV whose quoted fields may hold line ends."""

    quotes: Quotes
    delimiter: str
    quote: str


class RowScan:
    """One pass over an object, fed in order, that finds a row start for each wished cut."""

    def __init__(self, quotes: Quotes, wished: Sequence[int], *, offset: int = 0) -> None:
        """``wished`` are offsets in ascending order, none below ``offset``, where the first row and the feed begin."""
        self._quotes = quotes
        self._wished = list(reversed(wished))
        self._state: State = "row"
        self._offset = offset
        self._line = 1
        self._behind_cr = False
        self._seeking = False
        self.found: list[RowStart] = []
        """Ascending, none twice. The last may be the object's end."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the object."""
        at = counted = 0
        while self._seeking or (self._wished and self._wished[-1] < self._offset + len(data)):
            if not self._seeking:
                goal = self._wished.pop() - self._offset
                self._state = self._quotes.advance(data, at, goal, self._state)
                at, self._seeking = goal, True
            row, self._state = self._quotes.next_row(data, at, self._state)
            if row is None:
                at = len(data)
                break
            at, self._seeking = row, False
            counted = self._count(data, counted, at)
            self._note(RowStart(self._offset + at, self._line))
        self._state = self._quotes.advance(data, at, len(data), self._state)
        self._count(data, counted, len(data))
        self._offset += len(data)

    def _note(self, row: RowStart) -> None:
        self.found.append(row)
        while self._wished and self._wished[-1] <= row.offset:
            self._wished.pop()

    def _count(self, data: bytes, start: int, end: int) -> int:
        """Count the lines that end in ``data[start:end]``; CR LF is one end, also where pieces meet within it."""
        if start < end:
            feeds, returns = data.count(b"\n", start, end), data.count(b"\r", start, end)
            pairs = data.count(b"\r\n", start, end) if feeds and returns else 0
            split_pair = self._behind_cr and data[start : start + 1] == b"\n"
            self._line += feeds + returns - pairs - split_pair
            self._behind_cr = data[end - 1 : end] == b"\r"
        return end
