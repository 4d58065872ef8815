"""Where lines begin, asked from every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.inputs.delimiters import LineRule, Need


def starts_of_a_single_pass(data: bytes, delimiter: bytes, unit: int = 1) -> list[int]:
    starts, at = [0], 0
    while at + len(delimiter) <= len(data):
        if data[at : at + len(delimiter)] == delimiter:
            at += len(delimiter)
            starts.append(at)
        else:
            at += unit
    return starts


def ask(rule: LineRule, data: bytes, at: int, step: int) -> int:
    """Answer ``next_start`` from windows that grow by ``step`` where the rule wants more."""
    if at == 0:
        return 0
    low, high = rule.look_behind(at), min(len(data), at + step)
    while True:
        found = rule.next_start(data[low:high], low, at)
        if isinstance(found, int):
            return found
        if found is Need.BEHIND:
            assert low > 0
            low = max(0, low - step)
            low -= low % rule.unit
        elif high == len(data):
            return len(data)
        else:
            high = min(len(data), high + step)


@given(
    data=st.lists(st.sampled_from([b"a", b"b", b"\n"]), max_size=40).map(b"".join),
    delimiter=st.lists(st.sampled_from([b"a", b"b", b"\n"]), min_size=1, max_size=4).map(b"".join),
    step=st.integers(1, 7),
)
def test_from_every_byte_the_next_line_start_is_that_of_a_single_pass(
    data: bytes, delimiter: bytes, step: int
) -> None:
    rule = LineRule(delimiter)
    starts = starts_of_a_single_pass(data, delimiter)
    for at in range(len(data) + 1):
        expected = next((start for start in starts if start >= at), len(data))
        assert ask(rule, data, at, step) == expected


@given(
    units=st.lists(st.sampled_from([b"\n\0", b"\0\n", b"a\0", b"\n\n"]), max_size=20),
    odd=st.sampled_from([b"", b"\n"]),
    length=st.integers(1, 2),
    step=st.integers(1, 5),
)
def test_a_delimiter_of_code_units_is_found_only_where_code_units_begin(
    units: list[bytes], odd: bytes, length: int, step: int
) -> None:
    data, delimiter = b"".join(units) + odd, b"\n\0" * length
    starts = starts_of_a_single_pass(data, delimiter, unit=2)
    for at in range(len(data) + 1):
        expected = next((start for start in starts if start >= at), len(data))
        assert ask(LineRule(delimiter, 2), data, at, step) == expected


@pytest.mark.parametrize(
    ("delimiter", "overlaps"),
    [(b"\n", False), (b"\r\n", False), (b"\n\n", True), (b"aba", True), (b"abc", False), (b"||", True)],
)
def test_a_delimiter_overlaps_itself_if_a_part_of_its_start_is_its_end(
    delimiter: bytes, overlaps: bool
) -> None:
    assert LineRule(delimiter).overlaps is overlaps


def test_a_delimiter_overlaps_itself_only_by_whole_code_units() -> None:
    assert not LineRule("\u0a0a".encode("utf-16-le"), 2).overlaps
    assert LineRule("\n\n".encode("utf-16-le"), 2).overlaps


def test_a_long_chain_of_overlapping_delimiters_is_followed_to_where_it_begins() -> None:
    data = b"x" + b"a" * 1001 + b"y"
    rule = LineRule(b"aa")
    assert ask(rule, data, 500, 8) == 501
    assert ask(rule, data, 501, 8) == 501
    assert ask(rule, data, 1002, 8) == len(data)
