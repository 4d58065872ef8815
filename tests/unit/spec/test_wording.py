from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.spec.wording import found, listed, nearest, path, quoted


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ((), ""),
        (("input", "columns", 3), "input.columns[3]"),
        (("items", 0, "a"), "items[0].a"),
        (("params", "two words"), 'params["two words"]'),
        (("params", 'a"b\n'), 'params["a\\"b\\n"]'),
        (("params", ""), 'params[""]'),
        (("x" * 500,), '["' + "x" * 60 + '"… (500 characters)]'),
    ],
)
def test_a_place_is_written_as_people_write_it(place: tuple[Any, ...], shown: str) -> None:
    assert path(place) == shown


@given(st.lists(st.text() | st.integers(0, 10**9)))
def test_a_path_is_one_short_printable_line(place: list[Any]) -> None:
    shown = path(tuple(place))
    assert shown.isprintable()
    assert len(shown) <= 120


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        ("map", '"map"'),
        ("4", '"4" (text)'),
        ("true", '"true" (text)'),
        ("-1e9", '"-1e9" (text)'),
        ("32MB", '"32MB"'),
        ([], "a list of 0 values"),
        ([1], "a list of 1 value"),
        ({"a": 1, "b": 2}, "an object with 2 fields"),
        (2**1000, "a whole number of 1,001 bits"),
        (b"x", "a Python builtins.bytes"),
    ],
)
def test_a_value_is_shown_so_that_its_type_is_seen(value: Any, shown: str) -> None:
    assert found(value) == shown


@given(st.text())
def test_quoted_text_is_printable_and_short(text: str) -> None:
    assert quoted(text).isprintable()
    assert len(quoted(text, 20)) <= 20 * 10 + 40


def test_words_are_listed_with_or() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nothing",
        "a",
        "a or b",
        "a, b or c",
    ]


def test_the_nearest_word_is_found_and_a_far_one_is_not() -> None:
    known = ["workers", "memory_mb", "deadline_s"]
    assert nearest("WORKER", known) == "workers"
    assert nearest("memory-mb", known) == "memory_mb"
    assert nearest("colour", known) is None
    assert nearest("w" * 10**6, known) is None
