"""From the bytes of whole CSV rows to rows, by Python's own ``csv`` parser.

Proof that cuts were right. The parser starts each chunk at the start of a row and must be between rows at the chunk's
end; ``_Text`` asks it. If that holds for every chunk then, one after the other, each chunk begins where a single pass
would have begun a row, so the chunks together give the rows of a single pass. A cut that was wrong (``quoted_newlines``
declared False for an object that has some, or a guess in an object too large to be read in planning) fails by name.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from bellwren.errors import InputError
from bellwren.inputs.encodings import HEAD_BYTES, settle, undecodable
from bellwren.inputs.streams import with_head

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from bellwren.inputs.chunks import Segment
    from bellwren.inputs.spec import InputSpec

BATCH_ROWS = 512
SNIFF_BYTES = 512
_SNIPPET_CHARACTERS = 80
_BUFFER_BYTES = 1 << 18
_LINE_END = re.compile(rb"\r\n?|\n")

_NO_TABLES = (
    (b"<!doctype", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
    (b"%pdf", "a PDF file"),
    (b"pk\x03\x04", "a zip file or spreadsheet"),
    (b"par1", "a Parquet file"),
)


@dataclass(frozen=True)
class BadRow:
    """A row that does not fit its table."""

    source: str
    """Address of the object."""
    place: str
    """Its line in the object, or in the chunk where the line of the object is not known."""
    reason: str
    snippet: str

    def __str__(self) -> str:
        return f"{self.source}, {self.place}: {self.reason}: {self.snippet}"


OnBad = Callable[[BadRow], None]
"""Takes a bad row, which is then left out; without one the first bad row is an error."""


def row_batches(
    spec: InputSpec, segment: Segment, pieces: Iterable[bytes], name: str, on_bad: OnBad | None = None
) -> Iterator[list[Any]]:
    """The rows of one segment, its bytes joined from ``pieces`` and decompressed.

    Yields:
        Lists of dicts (names known: from the header, or from ``columns``), or of lists of text.

    Raises:
        InputError: for bytes that are no CSV or not valid in the encoding, for a header without one of ``columns`` or
            with a name twice, for quotes that are not closed, and, without ``on_bad``, for a row whose number of fields
            is not the header's.
    """
    text = _Text(spec, segment, pieces, name)
    names = segment.source.facts.columns if segment.start else None
    if spec.header and names is None:
        first = next((row for row in text if row), None)
        if first is None:
            return
        names = checked_header(spec, first, name)
    elif not spec.header:
        names = spec.columns
    shape = _shape(spec, names)
    batch: list[Any] = []
    try:
        for row in text:
            if names is None or len(row) == len(names):
                if row:
                    batch.append(shape(row))
            elif row:
                bad = BadRow(
                    name, text.place(), f"{len(row)} field(s) where {len(names)} are named", _snippet(row)
                )
                (on_bad or _refuse)(bad)
            if len(batch) == BATCH_ROWS:
                yield batch
                batch = []
    except InputError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def first_row(spec: InputSpec, codec: str, head: bytes, *, complete: bool) -> tuple[list[str], int] | None:
    """The first row that is not blank, and where it ends, from the beginning of an object without its mark.

    None if the row may go on behind ``head``; ``complete`` says that ``head`` is all of the object. Only for encodings
    in which line ends are the bytes that they are in ASCII.
    """
    decoder = codecs.getincrementaldecoder(codec)(spec.errors)
    lines = io.StringIO(decoder.decode(head, final=complete), newline="").readlines()
    parser = csv.reader(lines, **_dialect(spec))
    row = next((row for row in parser if row), [])
    if complete and parser.line_num >= len(lines):
        return row, len(head)
    if parser.line_num >= len(lines):
        return None
    line_end = next(itertools.islice(_LINE_END.finditer(head), parser.line_num - 1, None))
    return row, line_end.end()


def checked_header(spec: InputSpec, row: list[str], name: str) -> tuple[str, ...]:
    """The column names of a header row, if they are all different and hold those that are to be read."""
    twice = sorted({column for column in row if row.count(column) > 1})
    if twice:
        raise InputError(
            f"{name}, header: the column {twice[0]!r} is there twice, so rows can't be dicts; use header=False"
        )
    missing = [column for column in spec.columns or () if column not in row]
    if missing:
        raise InputError(
            f"{name}, line 1: the header has no column {missing[0]!r}; it has {len(row)}: {_snippet(row)}"
        )
    return tuple(row)


def refuse_other_formats(head: bytes, name: str, *, wide: bool) -> None:
    """Raise InputError for the beginning of an object that can't be CSV. ``wide``: UTF-16 and UTF-32 hold NULs."""
    start = head[:SNIFF_BYTES].lstrip().lower()
    for mark, what in _NO_TABLES:
        if start.startswith(mark):
            raise InputError(f"{name}, line 1: this is {what}, not CSV: {_snippet([_printable(head)])}")
    if b"\0" in start and not wide:
        raise InputError(
            f"{name}, line 1: holds NUL bytes, so it is no text in the declared encoding:"
            f" {_snippet([_printable(head)])}"
        )


class _Text:
    """The rows of a segment as the parser gives them, with where it is, and whether it is done at the end."""

    def __init__(self, spec: InputSpec, segment: Segment, pieces: Iterable[bytes], name: str) -> None:
        head, stream = with_head(pieces, max(HEAD_BYTES, SNIFF_BYTES))
        declared, mark = settle(segment.source.facts.encoding or spec.encoding or "utf-8", head)
        if segment.start == 0:
            refuse_other_formats(head, name, wide=declared.unit > 1)
        raw = io.BufferedReader(_Raw(stream, mark if segment.start == 0 else 0), _BUFFER_BYTES)
        text = io.TextIOWrapper(raw, declared.codec, spec.errors, newline="")
        # The limit on one field (128 KiB) is the process's; a runner has no other use for it.
        csv.field_size_limit(sys.maxsize)
        self._parser = csv.reader(itertools.chain(text, self._end()), **_dialect(spec))
        self._name, self._segment = name, segment
        self._mark = f"\0{spec.delimiter}\0"
        self._ended = False
        self._before = 0  # lines before the row at hand
        self._rows = self._read()

    def __iter__(self) -> Iterator[list[str]]:
        return self._rows

    def _read(self) -> Iterator[list[str]]:
        before = 0
        try:
            for row in self._parser:
                self._before = before
                if self._ended:
                    if row != ["\0", "\0"]:
                        raise InputError(self._unclosed(row))
                    return
                yield row
                before = self._parser.line_num
        except UnicodeError as error:
            raise undecodable(f"{self._name}, {self.place()}", error, None) from error

    def place(self) -> str:
        """Where the row at hand begins."""
        if self._segment.line is not None:
            return f"line {self._segment.line + self._before}"
        return f"line {1 + self._before} of the chunk that was cut at byte {self._segment.start:,}"

    def _end(self) -> Iterator[str]:
        # Two fields: within open quotes the delimiter is text, and so the row is another one.
        self._ended = True
        yield self._mark

    def _unclosed(self, row: list[str]) -> str:
        row = [*row[:-1], row[-1].removesuffix(self._mark)]
        if self._segment.whole or self._segment.exact:
            return (
                f"{self._name}, {self.place()}: a quote opens a field and nothing closes it: {_snippet(row)};"
                " if quotes are text here, use quote=None"
            )
        return (
            f"{self._name}, {self.place()}: a quoted field holds a line end where the object was cut: {_snippet(row)};"
            " leave quoted_newlines=True if quoted fields may hold line ends (and if it was, raise `chunk`), or use"
            " quote=None if quotes are text here"
        )


class _Raw(io.RawIOBase):
    """Pieces as a file, the first ``skip`` bytes left out."""

    def __init__(self, pieces: Iterator[bytes], skip: int) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")
        self._skip = skip

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)[self._skip :]
            self._skip = max(0, self._skip - len(piece))
        target = memoryview(buffer)
        size = min(len(target), len(self._rest))
        target[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _refuse(bad: BadRow) -> None:
    raise InputError(str(bad))


def _shape(spec: InputSpec, names: tuple[str, ...] | None) -> Callable[[list[str]], Any]:
    """From a row's fields to what the user gets."""
    if names is None:
        return lambda row: row
    chosen = spec.columns or names
    if chosen == names:
        return lambda row: dict(zip(names, row, strict=True))
    places = [names.index(column) for column in chosen]
    if len(places) == 1:
        return lambda row: {chosen[0]: row[places[0]]}
    pick = itemgetter(*places)
    return lambda row: dict(zip(chosen, pick(row), strict=True))


def _dialect(spec: InputSpec) -> dict[str, Any]:
    if spec.quote is None:
        return {"delimiter": spec.delimiter, "quoting": csv.QUOTE_NONE, "quotechar": None}
    return {"delimiter": spec.delimiter, "quotechar": spec.quote}


def _snippet(row: list[str]) -> str:
    text = ",".join(itertools.islice(row, _SNIPPET_CHARACTERS))
    return repr(text if len(text) <= _SNIPPET_CHARACTERS else text[:_SNIPPET_CHARACTERS] + "…")


def _printable(head: bytes) -> str:
    return head[: _SNIPPET_CHARACTERS + 1].decode("ascii", "replace")
