"""Results as JSON that any parser reads."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.cli.values import as_data, strict_json
from bellwren.errors import TaskFailure


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ([1, None, "é", True, 1.5], [1, None, "é", True, 1.5]),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({1: "x", "a": 2}, [{"key": 1, "value": "x"}, {"key": "a", "value": 2}]),
        ([math.nan, -math.inf], ["nan", "-inf"]),
        ([b"\xff", {1}], ["b'\\xff'", "{1}"]),
        (TaskFailure(0, "E", "m"), {"index": 0, "type": "E", "message": "m", "traceback": "", "item": ""}),
    ],
)
def test_what_json_has_stays_and_the_rest_is_shown(value: Any, data: Any) -> None:
    assert as_data(value) == data


def refuse(constant: str) -> Any:
    raise AssertionError(constant)


@given(
    st.recursive(
        st.none() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_any_result_is_strict_json(value: Any) -> None:
    json.loads(strict_json(as_data(value)), parse_constant=refuse)
