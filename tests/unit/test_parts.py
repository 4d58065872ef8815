"""Result parts: what is written is what is read, failures in their place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.parts import encode_result, failure_frames, read_part, whole_part
from bellwren.payload.failure import failure_frame
from bellwren.payload.outcome import failed, rebuild
from bellwren.payload.results import result_frame

FAILURE = TaskFailure(index=3, type="ValueError", message='bad "x"\nline', traceback="Traceback")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def part(format_: Any, frames: list[Frame]) -> bytes:
    return whole_part(format_, [encode_result(format_, frame) for frame in frames], len(frames))


@given(st.lists(json_values, max_size=8))
def test_json_values_come_back_from_json_lines(values: list[Any]) -> None:
    data = part("jsonl", [result_frame(value, "json", index=n) for n, value in enumerate(values)])
    assert list(read_part("jsonl", data)) == values
    assert data.count(b"\n") == len(values)


@given(st.lists(json_values | st.binary() | st.tuples(st.integers()) | st.sets(st.integers()), max_size=8))
def test_any_values_come_back_from_pickles(values: list[Any]) -> None:
    data = part("pickle", [result_frame(value, "pickle", index=n) for n, value in enumerate(values)])
    assert list(read_part("pickle", data)) == values


@pytest.mark.parametrize("format_", ["jsonl", "pickle"])
def test_a_failed_item_keeps_its_place(format_: Any) -> None:
    codec = "json" if format_ == "jsonl" else "pickle"
    frames = [result_frame(1, codec, index=0), failure_frame(FAILURE), result_frame(None, codec, index=2)]
    assert list(read_part(format_, part(format_, frames))) == [1, FAILURE, None]


def test_a_value_that_looks_like_a_failure_is_a_value_in_pickles() -> None:
    value = {"bellwren": "TaskFailure", "index": 1}
    assert list(read_part("pickle", part("pickle", [result_frame(value, "pickle", index=0)]))) == [value]


def test_the_users_own_exception_comes_back_from_pickles() -> None:
    try:
        int("x")
    except ValueError as error:
        frame = failed(error, index=0)
    (data,) = failure_frames("pickle", part("pickle", [frame, Frame(Kind.NONE, b"")]))
    failure, exception = rebuild(data)
    assert failure.type == "ValueError"
    assert isinstance(exception, ValueError)


def test_a_part_that_was_cut_off_is_told_from_a_whole_one() -> None:
    data = part("pickle", [result_frame(n, "pickle", index=n) for n in range(5)])
    for length in range(len(data)):
        with pytest.raises(InputError, match="results of job"):
            list(read_part("pickle", data[:length], name="results of job"))


@pytest.mark.parametrize("format_", ["jsonl", "pickle"])
def test_a_part_without_results_is_empty(format_: Any) -> None:
    assert list(read_part(format_, part(format_, []))) == []
