"""A built-in algorithm tried on a sample: its speed on its own data, where that is safe to find out."""

from __future__ import annotations

import pytest

from bellwren.control.characteristics import Sample
from bellwren.control.trial import seconds_per_byte

LINES = Sample((b"to be or not to be\n" * 5000,))
WORDS = {"pattern": "[A-Za-z]+", "lower": True}


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [("wordcount", WORDS), ("wordcount", {"pattern": "[a-z]+", "lower": False}), ("grep", {"pattern": "be"})],
)
def test_the_speed_of_one_pass_is_found(algorithm: str, params: dict[str, object]) -> None:
    found = seconds_per_byte(algorithm, params, LINES)
    assert found is not None
    assert 0 < found < 1e-3


@pytest.mark.parametrize(
    ("algorithm", "params", "sample"),
    [
        ("kmeans", {"k": 3}, LINES),
        ("grep", {"pattern": "(a+)+$"}, LINES),
        ("grep", {"pattern": "be"}, Sample((b"be\n",))),
        ("grep", {"pattern": "be"}, Sample(LINES.pieces, compressed=True)),
        ("wordcount", WORDS, Sample(())),
    ],
)
def test_what_can_not_be_tried_safely_is_not_known(
    algorithm: str, params: dict[str, object], sample: Sample
) -> None:
    assert seconds_per_byte(algorithm, params, sample) is None
