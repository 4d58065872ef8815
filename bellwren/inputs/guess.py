"""Where a CSV row probably begins, guessed from a window in the middle of an object too large to be read in planning.

Both stories are tried, "the cut is within quotes" and "it is not": each names a row start, and the one whose rows have
the header's number of fields more often is believed. Neighbouring chunks guess from the same window, so they always
agree on where they meet; whether the guess was true is proven when the rows are read (``rows``).
"""

from __future__ import annotations

import csv
import io

from bellwren.inputs.quotes import RowRule, State


def guess_row(rule: RowRule, window: bytes, columns: int, *, complete: bool) -> int | None:
    """A probable row start in the window, or None if the window holds none.

    Args:
        rule: the dialect.
        window: the byte before the cut, and what follows.
        columns: number of fields of the object's rows.
        complete: whether the window reaches to the end of the object.

    Returns:
        A position in the window, from 1 on.
    """
    quotes, delimiter, quote = rule.quotes, rule.delimiter, rule.quote
    outside, _ = quotes.next_row(window, 1, _unquoted_state(window[:1], delimiter, quote))
    inside, _ = quotes.next_row(window, 1, "quoted")
    if outside is None or inside is None or outside == inside:
        return inside if outside is None else outside
    unquoted, quoted = (_fit(rule, window[start:], columns, complete=complete) for start in (outside, inside))
    return inside if quoted > unquoted else outside


def _unquoted_state(before: bytes, delimiter: str, quote: str) -> State:
    known: dict[bytes, State] = {
        b"\n": "row",
        b"\r": "cr",
        delimiter.encode("latin-1"): "field",
        quote.encode("latin-1"): "closed",
    }
    return known.get(before, "plain")


def _fit(rule: RowRule, window: bytes, columns: int, *, complete: bool) -> float:
    """The share of rows with the right number of fields; the last one, if the window may cut it, is left out."""
    lines = io.StringIO(window.decode("latin-1"), newline="").readlines()
    parser = csv.reader(lines, delimiter=rule.delimiter, quotechar=rule.quote, strict=True)
    good = seen = 0
    while parser.line_num < len(lines):
        try:
            fields = len(next(parser))
        except csv.Error:
            fields = -1
        if complete or parser.line_num < len(lines):
            seen += 1
            good += fields == columns
    return good / seen if seen else 1.0
