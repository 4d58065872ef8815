"""Where a CSV row probably begins, guessed from a window in the middle of an object too large to be read in planning.

Both stories are tried, "the cut is within quotes" and "it is not": each names a row start, and the one whose rows have
the header's number of fields more often is believed. Neighbouring chunks guess from the same window, so they always
agree on where they meet; whether the guess was true is proven when the rows are read (``rows``).
"""

from __future__ import annotations

import csv
import io

from bellwren.inputs.quotes import Quotes, State


def guess_row(quotes: Quotes, window: bytes, columns: int, delimiter: str, quote: str) -> int | None:
    """A probable row start in the window, from 1 on (the first byte is the one before the cut), or None."""
    outside, _ = quotes.next_row(window, 1, _unquoted_state(window[:1], delimiter, quote))
    inside, _ = quotes.next_row(window, 1, "quoted")
    if outside is None or inside is None or outside == inside:
        return inside if outside is None else outside
    unquoted, quoted = (_fit(window[start:], columns, delimiter, quote) for start in (outside, inside))
    return inside if quoted > unquoted else outside


def _unquoted_state(before: bytes, delimiter: str, quote: str) -> State:
    known: dict[bytes, State] = {
        b"\n": "row",
        b"\r": "cr",
        delimiter.encode("latin-1"): "field",
        quote.encode("latin-1"): "closed",
    }
    return known.get(before, "plain")


def _fit(window: bytes, columns: int, delimiter: str, quote: str) -> float:
    """The share of rows with the right number of fields; the last, which the window may cut, is left out."""
    lines = io.StringIO(window.decode("latin-1"), newline="").readlines()
    parser = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
    good = seen = 0
    while True:
        try:
            fields = len(next(parser, ()))
        except csv.Error:
            fields = -1
        if parser.line_num >= len(lines):
            return good / max(1, seen)
        seen += 1
        good += fields == columns
