"""How many items may fail."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.control.tolerance import tolerated


@pytest.mark.parametrize(
    ("items", "share", "most"),
    [(100, 0.0, 0), (100, 0.099, 9), (100, 0.1, 10), (1, 1.0, 1), (3, 0.33, 0), (3, 1 / 3, 1), (0, 0.5, 0)],
)
def test_the_share_is_never_exceeded(items: int, share: float, most: int) -> None:
    assert tolerated(items, share) == most


@given(percent=st.integers(0, 100), hundreds=st.integers(1, 10_000))
def test_whole_percents_are_counted_as_people_count(percent: int, hundreds: int) -> None:
    assert tolerated(100 * hundreds, percent / 100) == percent * hundreds


@given(items=st.integers(0, 10**6), share=st.floats(0, 1))
def test_it_is_the_share_rounded_down(items: int, share: float) -> None:
    exact = Fraction(share) * items
    assert exact - 1 < tolerated(items, share) <= exact + Fraction(1, 1000)
