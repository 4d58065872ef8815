"""JSON that says exactly what the value was, or refuses; and the lines of a jsonl result. B08, B10."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.errors import InputError, PayloadError, TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.payload.codecs import decode, encode_json, failure_line
from bellwren.payload.failure import decode_failure, failure_frame

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def strict(text: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@given(documents)
def test_what_json_holds_is_read_as_it_was_written(value: Any) -> None:
    data = encode_json(value)
    assert b"\n" not in data
    assert strict(data) == value
    frame = Frame(Kind.NONE, b"") if value is None else Frame(Kind.VALUE, data)
    assert decode(frame, "json") == value


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (math.nan, "item 3 is nan"),
        ({"loss": [1.0, math.inf]}, r"item 3\['loss'\]\[1\] is inf"),
        ({1: 2}, "item 3 has the key 1, a int; JSON keys are texts"),
        ({"a": {None: 2}}, r"item 3\['a'\] has the key None"),
        (b"x", "item 3 is a builtins.bytes"),
        ([{1, 2}], r"item 3\[0\] is a builtins.set"),
        (np.int64(3), "item 3 is a numpy.int64"),
        (np.float64("nan"), "item 3 is"),
        ([10**5000], "item 3 cannot be written as JSON"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused_by_its_place(value: Any, place: str) -> None:
    with pytest.raises(PayloadError, match=place):
        encode_json(value, what="item 3")


def test_a_value_that_contains_itself_is_refused() -> None:
    round_: list[Any] = []
    round_.append(round_)
    with pytest.raises(PayloadError, match="nested too deeply, or contains itself"):
        encode_json(round_)


def test_tuples_are_written_as_arrays_and_lone_surrogates_are_kept() -> None:
    assert json.loads(encode_json({"pair": (1, ("x",))})) == {"pair": [1, ["x"]]}
    assert json.loads(encode_json("a\ud800é")) == "a\ud800é"
    assert "é".encode() in encode_json("é")


def test_a_failed_item_is_its_failure() -> None:
    failure = TaskFailure(0, "T", "m")
    assert decode(failure_frame(failure), "pickle") == failure


def test_a_failed_item_has_one_line() -> None:
    failure = TaskFailure(1, "ValueError", "bad\nline", "Traceback\n  \ud800", "item")
    line = failure_line(failure_frame(failure).data)
    assert line.count(b"\n") == 1
    assert strict(line) == {
        "bellwren": "TaskFailure",
        "index": 1,
        "type": "ValueError",
        "message": "bad\nline",
        "traceback": "Traceback\n  \ud800",
    }


failures = st.builds(TaskFailure, st.integers(0), st.text(), st.text(), st.text(), st.text())


@given(failures, st.binary())
def test_a_failure_is_read_as_it_was_written(failure: TaskFailure, exception: bytes) -> None:
    assert decode_failure(failure_frame(failure, exception).data) == (failure, exception)


def test_a_runner_that_died_is_a_failure_without_an_exception() -> None:
    frame = failure_frame(TaskFailure(4, "WorkerDied", "the runner was ended by signal 9"))
    assert decode_failure(frame.data)[1] == b""


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x00", b"\xff\xff\xff\xffabc", b"\x02\x00\x00\x00{}"])
def test_what_is_no_failure_frame_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        decode_failure(data)
