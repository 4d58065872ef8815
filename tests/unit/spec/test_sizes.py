from __future__ import annotations

import doctest
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.spec import sizes
from bellwren.spec.sizes import SIZE_PATTERN, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("32MB", 32_000_000),
        ("32mb", 32_000_000),
        ("32 MB", 32_000_000),
        ("32MiB", 33_554_432),
        ("1.5GiB", 1_610_612_736),
        ("0.1kB", 100),
        ("0.0001kB", 0),
        ("1B", 1),
        ("900719925474099.3kB", 900_719_925_474_099_300),
        ("2TB", 2 * 10**12),
        (7, 7),
        (0, 0),
        (4.0, 4),
    ],
)
def test_a_size_is_read_exactly(text: str | float, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "32",
        "32M",
        "MB",
        "-1MB",
        "1e3MB",
        "1,000B",
        "32  MB",
        " 32MB",
        "32MB\n",
        "32MB ",
        "٣MB",
        "1.MB",
        ".5MB",
        "9" * 16 + "B",
        -1,
        1.5,
        True,
        None,
        [],
        float("inf"),
        float("nan"),
    ],
)
def test_what_is_no_size_is_refused_with_what_is_allowed(text: Any) -> None:
    with pytest.raises(ValueError, match='such as "32MB" or "64MiB", or a whole number of bytes'):
        parse_size(text)


@given(st.integers(0, 10**14), st.sampled_from(["kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_a_whole_number_of_units_is_that_many_units(number: int, unit: str) -> None:
    assert parse_size(f"{number}{unit}") == number * parse_size(f"1{unit}")


@given(st.text(max_size=12) | st.from_regex(SIZE_PATTERN))
def test_the_published_pattern_and_the_parser_agree(text: str) -> None:
    try:
        parse_size(text)
    except ValueError:
        assert not re.fullmatch(SIZE_PATTERN.strip("^$"), text)
    else:
        assert re.search(SIZE_PATTERN, text)


def test_the_examples_in_the_text_hold() -> None:
    assert doctest.testmod(sizes).failed == 0
