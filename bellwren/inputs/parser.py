"""Python's ``csv`` parser over a stream of bytes, in batches, with line numbers, and with proof of where it ends."""

from __future__ import annotations

import csv
import io
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bellwren.errors import InputError
from bellwren.inputs.encodings import settle, undecodable
from bellwren.inputs.streams import with_head

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from bellwren.inputs.chunks import Segment
    from bellwren.inputs.spec import InputSpec

BATCH_ROWS = 512
SNIFF_BYTES = 512
_SNIPPET_CHARACTERS = 80
_BUFFER_BYTES = 1 << 18
_LINE_END = re.compile(r"\r\n?|\n")

_NO_TABLES = (
    (b"<!doctype", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
    (b"%pdf", "a PDF file"),
    (b"pk\x03\x04", "a zip file or spreadsheet"),
    (b"par1", "a Parquet file"),
)


def parsed(
    spec: InputSpec, segment: Segment, pieces: Iterable[bytes], name: str
) -> Iterator[tuple[int, list[list[str]]]]:
    """The rows of a segment as the parser gives them, blank lines as ``[]``.

    Yields:
        The number of lines before the first row of a batch, counted from the segment's start, and the batch.

    Raises:
        InputError: if the bytes are no CSV, or not valid in the encoding, or end within quotes. Rows before the fault
            are yielded first.
    """
    ended = False

    def end() -> Iterator[str]:
        # Two fields: within open quotes the delimiter is text, and so the row is another one.
        nonlocal ended
        ended = True
        yield f"\0{spec.delimiter}\0"

    # The limit on one field (128 KiB) is the process's; a runner has no other use for it.
    csv.field_size_limit(sys.maxsize)
    parser = csv.reader(itertools.chain(_text(spec, segment, pieces, name), end()), **dialect(spec))
    while not ended:
        line, rows = parser.line_num, list[list[str]]()
        fault: InputError | None = None
        try:
            rows.extend(itertools.islice(parser, BATCH_ROWS))  # keeps what came before an error
        except UnicodeError as error:
            fault = undecodable(f"{name}, {place(segment, parser.line_num)} or soon after", error, None)
        except InputError as error:
            fault = error
        if ended and fault is None:
            last = rows.pop()
            if last != ["\0", "\0"]:
                at = place(segment, line + sum(map(line_count, rows)))
                fault = _unclosed(segment, f"{name}, {at}", [*last[:-1], last[-1][:-3]])
        yield line, rows
        if fault:
            raise fault


def place(segment: Segment, lines_before: int) -> str:
    """A line of a segment, in words."""
    if segment.line is not None:
        return f"line {segment.line + lines_before}"
    return f"line {1 + lines_before} of the chunk that was cut at byte {segment.start:,}"


def line_count(row: list[str]) -> int:
    """Lines that a row takes in its object."""
    return 1 + sum(len(_LINE_END.findall(field)) for field in row)


def dialect(spec: InputSpec) -> dict[str, Any]:
    """The arguments of ``csv.reader``."""
    if spec.quote is None:
        return {"delimiter": spec.delimiter, "quoting": csv.QUOTE_NONE, "quotechar": None}
    return {"delimiter": spec.delimiter, "quotechar": spec.quote}


def snippet(row: list[str]) -> str:
    """A row in an error, shortened."""
    text = ",".join(itertools.islice(row, _SNIPPET_CHARACTERS))
    return repr(text if len(text) <= _SNIPPET_CHARACTERS else text[:_SNIPPET_CHARACTERS] + "…")


def refuse_other_formats(head: bytes, name: str, *, wide: bool) -> None:
    """Raise InputError for the beginning of an object that can't be CSV. ``wide``: UTF-16 and UTF-32 hold NULs."""
    start = head[:SNIFF_BYTES].lstrip().lower()
    shown = snippet([head[: _SNIPPET_CHARACTERS + 1].decode("ascii", "replace")])
    for mark, what in _NO_TABLES:
        if start.startswith(mark):
            raise InputError(f"{name}, line 1: this is {what}, not CSV: {shown}")
    if b"\0" in start and not wide:
        raise InputError(
            f"{name}, line 1: holds NUL bytes, so it is no text in the declared encoding: {shown}"
        )


def _text(spec: InputSpec, segment: Segment, pieces: Iterable[bytes], name: str) -> Iterable[str]:
    """Physical lines with their ends, which may be LF, CR LF or CR."""
    head, stream = with_head(pieces, SNIFF_BYTES)
    declared, mark = settle(segment.source.facts.encoding or spec.encoding or "utf-8", head)
    if segment.start == 0:
        refuse_other_formats(head, name, wide=declared.unit > 1)
    raw = io.BufferedReader(_Raw(stream, mark if segment.start == 0 else 0), _BUFFER_BYTES)
    return io.TextIOWrapper(raw, declared.codec, spec.errors, newline="")


def _unclosed(segment: Segment, where: str, row: list[str]) -> InputError:
    if segment.exact:
        return InputError(
            f"{where}: a quote opens a field and nothing closes it: {snippet(row)}; if quotes are text, use quote=None"
        )
    return InputError(
        f"{where}: a quoted field holds a line end where the object was cut: {snippet(row)}; leave quoted_newlines=True"
        " if quoted fields may hold line ends (and if it was, raise `chunk`), or use quote=None if quotes are text"
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
