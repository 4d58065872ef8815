"""From pydantic's errors to faults: one for each place, in our words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from bellwren.errors import Fault
from bellwren.spec.fields import Objection
from bellwren.spec.shape import allowed_at
from bellwren.spec.wording import Place, found, kind_of, path, quoted

_NUMBER_WANTED = {"int_type", "float_type"}
_FLAG_WANTED = {"bool_type"}
_NO_SUCH = object()


def faults_by_place(errors: Iterable[ErrorDetails], document: Mapping[str, Any]) -> dict[Place, Fault]:
    """One fault for each place that has errors; the branches of a union fall together."""
    by_place: dict[Place, list[ErrorDetails]] = {}
    for error in errors:
        by_place.setdefault(_place(error, document), []).append(error)
    # What one branch of a union says about a part of the value is more than that it fits no other branch.
    around = {place[:depth] for place in by_place for depth in range(len(place))}
    return {place: _fault(place, together) for place, together in by_place.items() if place not in around}


def _place(error: ErrorDetails, document: Mapping[str, Any]) -> Place:
    """The part of the error's location that exists in the document; the rest names types inside the model."""
    place: list[str | int] = []
    value: Any = document
    for step in error["loc"]:
        deeper = _at(value, step)
        if deeper is not _NO_SUCH:
            value = deeper
            place.append(step)
        elif error["type"] == "missing":
            place.append(step)
    return tuple(place)


def _at(value: Any, step: str | int) -> Any:
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step, _NO_SUCH)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return _NO_SUCH


def _fault(place: Place, errors: list[ErrorDetails]) -> Fault:
    error = next((one for one in errors if one["type"] == Objection), errors[0])
    value = error["input"]
    of_name = error["loc"][-1:] == ("[key]",)
    known = allowed_at(place[:-1] if of_name else place)
    allowed = error["msg"] if error["type"] == Objection or known is None else known
    return Fault(path(place), _shown(place, error), allowed + _hint(value, {one["type"] for one in errors}))


def _shown(place: Place, error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "nothing"
    if error["loc"][-1:] == ("[key]",):
        return f"the name {quoted(str(error['input']), 60)}"
    # Values of environment variables may be secrets, and faults are stored and printed.
    if place[:1] == ("env",):
        return kind_of(error["input"])
    return found(error["input"])


def _hint(value: Any, types: set[str]) -> str:
    if not isinstance(value, str) or len(value) > 40:
        return ""
    if types & _FLAG_WANTED and value.lower() in {"true", "false"}:
        return "; write it without quotes"
    if types & _NUMBER_WANTED:
        try:
            float(value)
        except ValueError:
            return ""
        return "; write it without quotes"
    return ""
