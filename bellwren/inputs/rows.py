"""From the bytes of whole CSV rows to rows, by Python's own ``csv`` parser.

Proof that cuts were right. The parser starts each chunk at the start of a row and must be between rows at the chunk's
end; ``parser`` asks it. If that holds for every chunk then, one after the other, each chunk begins where a single pass
would have begun a row, so the chunks together give the rows of a single pass. A cut that was wrong (``quoted_newlines``
declared False for an object that has some, or a guess in an object too large to be read in planning) fails by name.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bellwren.errors import InputError
from bellwren.inputs.parser import dialect, line_count, parsed, place, snippet

if TYPE_CHECKING:
    from bellwren.inputs.chunks import Segment
    from bellwren.inputs.spec import InputSpec

_LINE_END = re.compile(rb"\r\n?|\n")


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
    names = segment.source.facts.columns if segment.start else None
    header_to_come = spec.header and names is None
    names = names if spec.header else spec.columns
    for before, rows in parsed(spec, segment, pieces, name):
        line = before
        if header_to_come:
            found = next((position for position, row in enumerate(rows) if row), None)
            if found is None:
                continue
            names, header_to_come = checked_header(spec, rows[found], name), False
            line += sum(map(line_count, rows[: found + 1]))
            del rows[: found + 1]
        if names is None:
            yield list(filter(None, rows))
        elif set(map(len, rows)) <= {len(names)}:
            yield _shaped(spec, names, rows)
        else:
            for found_rows in _sifted(rows, len(names), line, segment, name):
                if isinstance(found_rows, BadRow):
                    (on_bad or _refuse)(found_rows)
                else:
                    yield _shaped(spec, names, found_rows)


def _sifted(
    rows: list[list[str]], width: int, line: int, segment: Segment, name: str
) -> Iterator[list[list[str]] | BadRow]:
    """The rows that fit, and between them those that do not, in order. Blank lines are neither."""
    good: list[list[str]] = []
    for row in rows:
        if len(row) == width:
            good.append(row)
        elif row:
            yield good
            good = []
            reason = f"{len(row)} field(s) where {width} are named"
            yield BadRow(name, place(segment, line), reason, snippet(row))
        line += line_count(row)
    yield good


def _refuse(bad: BadRow) -> None:
    raise InputError(str(bad))


def first_row(spec: InputSpec, codec: str, head: bytes, *, complete: bool) -> tuple[list[str], int] | None:
    """The first row that is not blank, and where it ends, from the beginning of an object without its mark.

    None if the row may go on behind ``head``; ``complete`` says that ``head`` is all of the object. Only for encodings
    in which line ends are the bytes that they are in ASCII.
    """
    decoder = codecs.getincrementaldecoder(codec)(spec.errors)
    lines = io.StringIO(decoder.decode(head, final=complete), newline="").readlines()
    parser = csv.reader(lines, **dialect(spec))
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
            f"{name}, line 1: the header has no column {missing[0]!r}; it has {len(row)}: {snippet(row)}"
        )
    return tuple(row)


def _shaped(spec: InputSpec, names: tuple[str, ...], rows: list[list[str]]) -> list[dict[str, str]]:
    """From rows' fields to what the user gets."""
    chosen = spec.columns or names
    if chosen == names:
        return [dict(zip(names, row)) for row in rows]  # noqa: B905  known to be equally long; a third faster
    places = [names.index(column) for column in chosen]
    return [{column: row[at] for column, at in zip(chosen, places, strict=True)} for row in rows]
