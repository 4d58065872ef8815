"""What data is like, from a sample: the same for the same input, cheap, and never at the mercy of a pattern."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.control.characteristics import (
    PLACE_BYTES,
    PLACES,
    Sample,
    describe,
    is_quick,
    places,
    take_sample,
)


class Objects:
    """Objects in memory; ``read`` counts what is read."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = contents
        self.listed = [[str(at), len(content), '"1"'] for at, content in enumerate(contents)]
        self.bytes_read = 0

    def read(self, key: str, start: int, end: int, etag: str) -> bytes:
        self.bytes_read += end - start
        return self.contents[int(key)][start:end]

    def described(self, algorithm: str, **params: Any) -> dict[str, float]:
        return describe(algorithm, params, take_sample(self.listed, self.read))


@given(st.lists(st.integers(0, 10_000_000), max_size=9))
def test_places_lie_within_the_objects_and_none_is_looked_at_twice(sizes: list[int]) -> None:
    found = places(sizes)
    assert len(found) == len(set(found)) <= PLACES
    assert bool(found) == (sum(sizes) > 0)
    assert all(0 <= start < sizes[number] for number, start in found)
    assert found == sorted(found)


def test_a_share_of_matching_lines_is_found_whatever_the_size() -> None:
    lines = b"".join(b"a needle here\n" if at % 4 == 0 else b"nothing at all\n" for at in range(200_000))
    objects = Objects(lines)
    found = objects.described("grep", pattern="needle", ignore_case=False)
    assert found["match_share"] == pytest.approx(0.25, abs=0.01)
    assert found["line_bytes"] == pytest.approx(15, abs=1)
    assert objects.bytes_read <= (PLACES + 1) * PLACE_BYTES


def test_case_is_ignored_where_the_job_ignores_it() -> None:
    assert Objects(b"Needle\n").described("grep", pattern="needle", ignore_case=True)["match_share"] == 1.0
    assert Objects(b"Needle\n").described("grep", pattern="needle", ignore_case=False)["match_share"] == 0.0


def test_words_that_repeat_are_told_from_words_that_do_not() -> None:
    same, different = b"to be or not\n" * 1000, b"".join(b"w%d\n" % at for at in range(4000))
    for content, share in ((same, 0.001), (different, 1.0)):
        found = Objects(content).described("wordcount", pattern="[A-Za-z0-9]+", lower=True)
        assert found["distinct_share"] == pytest.approx(share)


def test_rows_say_how_many_columns_they_have() -> None:
    assert Objects(b"1,2,3\n4,5,6\n").described("kmeans", k=2)["columns"] == 3.0


def test_the_same_input_has_the_same_numbers_and_a_few_more_lines_change_little() -> None:
    lines = [b"line %d of many\n" % (at % 1000) for at in range(50_000)]
    first = Objects(b"".join(lines)).described("wordcount", pattern="[a-z]+", lower=True)
    assert Objects(b"".join(lines)).described("wordcount", pattern="[a-z]+", lower=True) == first
    grown = Objects(b"".join([*lines, *lines[:3]])).described("wordcount", pattern="[a-z]+", lower=True)
    assert grown == pytest.approx(first, rel=0.05)


def test_gzip_is_looked_into_and_said_to_be_whole() -> None:
    objects = Objects(gzip.compress(b"needle\nhay\n" * 5000))
    sample = take_sample(objects.listed, objects.read)
    assert sample.compressed
    assert describe("grep", {"pattern": "needle"}, sample)["match_share"] == 0.5


def test_damaged_or_empty_input_has_no_characteristics() -> None:
    assert Objects().described("grep", pattern="a") == {}
    assert Objects(b"").described("grep", pattern="a") == {}
    assert Objects(b"\x1f\x8b\x08 is no gzip").described("grep", pattern="a") == {}
    assert describe("grep", {"pattern": "a"}, Sample(())) == {}


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"a*a*a*a*b", r"(a|a)(a|a)(a|a)", r"(?:x+x+)+y"])
def test_a_pattern_that_may_take_for_ever_is_not_tried(pattern: str) -> None:
    found = Objects(b"a" * 5000 + b"\n").described("grep", pattern=pattern, ignore_case=False)
    assert "match_share" not in found


@pytest.mark.parametrize("pattern", ["needle", "[A-Za-z]+", "^ERROR.*timeout", r"\d\d:\d\d"])
def test_common_patterns_are_tried(pattern: str) -> None:
    assert is_quick(pattern)
