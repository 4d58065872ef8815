"""The states of the CSV parser, against one that looks at every byte, and against Python's own."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.inputs.guess import guess_row
from bellwren.inputs.quotes import Quotes, RowRule, RowScan, State

QUOTES = Quotes(b",", b'"')
CSV_BYTES = st.lists(st.sampled_from([b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a"]), max_size=40).map(
    b"".join
)
STATES: list[State] = ["row", "cr", "field", "plain", "quoted", "closed"]


def step(state: State, byte: bytes) -> State:
    """CPython's parse_process_char, without the fields."""
    if state == "quoted":
        return "closed" if byte == b'"' else "quoted"
    if byte == b"\n":
        return "row"
    if byte == b"\r":
        return "cr"
    if byte == b",":
        return "field"
    if byte == b'"' and state in ("row", "cr", "field", "closed"):
        return "quoted"
    return "plain"


@given(data=CSV_BYTES, state=st.sampled_from(STATES), cuts=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_leaping_from_quote_to_quote_ends_in_the_state_of_every_single_step(
    data: bytes, state: State, cuts: tuple[int, int]
) -> None:
    start, end = sorted(min(cut, len(data)) for cut in cuts)
    expected = state
    for at in range(start, end):
        expected = step(expected, data[at : at + 1])
    assert QUOTES.advance(data, start, end, state) == expected


@given(data=CSV_BYTES, state=st.sampled_from(STATES), start=st.integers(0, 40))
def test_the_next_row_is_the_first_byte_at_which_a_row_begins(data: bytes, state: State, start: int) -> None:
    start = min(start, len(data))
    expected, at = state, start
    while expected != "row" and not (expected == "cr" and at < len(data) and data[at : at + 1] != b"\n"):
        if at == len(data):
            assert QUOTES.next_row(data, start, state) == (None, expected)
            return
        expected, at = step(expected, data[at : at + 1]), at + 1
    assert QUOTES.next_row(data, start, state) == (at, "row")


@given(data=CSV_BYTES, pieces=st.integers(1, 9), wished=st.sets(st.integers(0, 60)))
def test_a_scan_in_pieces_finds_the_rows_and_lines_of_pythons_parser(
    data: bytes, pieces: int, wished: set[int]
) -> None:
    lines = io.StringIO(data.decode(), newline="").readlines()
    parser = csv.reader(lines)
    starts = {0: 1}
    for _ in parser:
        starts[len("".join(lines[: parser.line_num]))] = parser.line_num + 1
    if not data.endswith((b"\n", b"\r")) or step_all(data) == "quoted":
        starts.pop(len(data), None)
    goals = sorted(at for at in wished if at < len(data))
    scan = RowScan(QUOTES, goals)
    for at in range(0, len(data), pieces):
        scan.feed(data[at : at + pieces])
    found = {row.offset: row.line for row in scan.found}
    expected = {min(s for s in starts if s >= goal) for goal in goals if any(s >= goal for s in starts)}
    # An end behind a CR is only known to be one when more comes.
    assert set(found) | ({len(data)} & expected) == expected
    assert all(starts[offset] == line for offset, line in found.items())


def step_all(data: bytes) -> State:
    state: State = "row"
    for at in range(len(data)):
        state = step(state, data[at : at + 1])
    return state


@pytest.mark.parametrize(
    ("delimiter", "quote"), [(b"\t", b"'"), (b"]", b"^"), (b"^", b"-"), (b"\\", b"]"), (b".", b"|")]
)
def test_delimiters_and_quotes_that_mean_something_in_patterns_mean_themselves(
    delimiter: bytes, quote: bytes
) -> None:
    quotes = Quotes(delimiter, quote)
    data = b"a" + delimiter + quote + b"x\ny" + quote + quote + b"z" + quote + b"\nb\n"
    assert quotes.next_row(data, 0, "field") == (len(data) - 2, "row")
    assert quotes.advance(data, 0, 5, "row") == "quoted"


ROWS = "id,txt\n" + "".join(f'{n},"x\n{n + 900},""fake""\ny"\n' for n in range(50))


def test_a_guess_finds_true_rows_from_every_byte_where_rows_look_their_part() -> None:
    data = ROWS.encode()
    true_starts = {0}
    at = 0
    for row in csv.reader(io.StringIO(ROWS)):
        at = data.index(b"\n", at) + 1 if row[0] == "id" else data.index(b'y"\n', at) + 3
        true_starts.add(at)
    for cut in range(1, len(data)):
        found = guess_row(RowRule(QUOTES, ",", '"'), data[cut - 1 :], 2, complete=True)
        assert found is not None
        assert cut - 1 + found in true_starts
