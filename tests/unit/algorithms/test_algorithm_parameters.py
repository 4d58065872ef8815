from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.algorithms.parameters import ALGORITHMS, complete, problems

REQUIRED: dict[str, dict[str, Any]] = {"grep": {"pattern": "x"}}


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_default_is_allowed(algorithm: str) -> None:
    settled = complete(algorithm, REQUIRED.get(algorithm, {}))
    assert set(settled) == {parameter.name for parameter in ALGORITHMS[algorithm].parameters}
    assert problems(algorithm, settled) == []


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@given(
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.lists(st.integers())
)
def test_any_value_is_settled_or_named(algorithm: str, value: Any) -> None:
    for parameter in ALGORITHMS[algorithm].parameters:
        params = {**REQUIRED.get(algorithm, {}), parameter.name: value}
        found = problems(algorithm, params)
        if found:
            assert {problem.name for problem in found} <= {parameter.name, "key_bytes"}
            with pytest.raises(ValueError, match=found[0].name):
                complete(algorithm, params)
        else:
            assert problems(algorithm, complete(algorithm, params)) == []


def test_words_are_runs_of_letters_in_lower_case() -> None:
    assert complete("wordcount", {}) == {"pattern": "[A-Za-z]+", "lower": True}


def test_whole_numbers_written_with_a_point_are_whole() -> None:
    assert repr(complete("kmeans", {"k": 4.0})["k"]) == "4"


def test_a_missing_parameter_is_told_to_be_needed() -> None:
    (problem,) = problems("grep", {})
    assert (problem.name, problem.missing) == ("pattern", True)


def test_what_is_wrong_is_named_all_at_once() -> None:
    with pytest.raises(
        ValueError, match=r"colour is no parameter; k must be a whole number.*; tolerance must be"
    ):
        complete("kmeans", {"k": 0, "colour": "red", "tolerance": 2})


def test_a_key_is_a_part_of_its_record() -> None:
    assert complete("sort", {"record_bytes": 100, "key_bytes": 10}) == {"record_bytes": 100, "key_bytes": 10}
    assert [problem.name for problem in problems("sort", {"record_bytes": 10, "key_bytes": 100})] == [
        "key_bytes"
    ]
    assert problems("sort", {"key_bytes": 100}) == []


@pytest.mark.parametrize("pattern", ["(", "[a", "(?P<n>", "*", "x{99999999999}", "\\", "(?i", "(" * 200])
def test_a_pattern_that_does_not_compile_says_why(pattern: str) -> None:
    (problem,) = problems("grep", {"pattern": pattern})
    assert "can compile (" in problem.allowed
    assert len(problem.allowed) < 300
