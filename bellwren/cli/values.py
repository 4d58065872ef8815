"""Results of Python functions as JSON: what JSON has as it is, all else as Python shows it."""

from __future__ import annotations

import json
import math
from typing import Any

from bellwren.errors import TaskFailure


def as_data(value: Any) -> Any:
    """The value with nothing in it that JSON does not have.

    A failed item is an object, NaN and infinities are texts, a dict whose keys are not all texts is an array of
    ``{"key", "value"}``.

    >>> as_data({(1, 2): [float("inf"), {3}]})
    [{'key': [1, 2], 'value': ['inf', '{3}']}]
    """
    if (
        value is None
        or isinstance(value, (bool, int, str))
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    if isinstance(value, TaskFailure):
        return value.as_dict()
    if isinstance(value, dict):
        return _object(value)
    return [as_data(one) for one in value] if isinstance(value, (list, tuple)) else repr(value)


def _object(value: dict[Any, Any]) -> Any:
    if all(isinstance(key, str) for key in value):
        return {key: as_data(one) for key, one in value.items()}
    return [{"key": as_data(key), "value": as_data(one)} for key, one in value.items()]


def strict_json(value: Any) -> str:
    """One line of JSON that any parser reads."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
