"""Aggregates: what all partitions know together in the next superstep.

They are merged in order of the partitions, whatever groups those lie in, so a sum of floats has the same rounding for
any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bellwren.payload.text import short_repr

Partial = dict[str, tuple[str, Any]]
"""Name → how it is merged, and the value so far."""

_SHOWN = 50
"""Most aggregates of a superstep that the status shows."""
_SHOWN_CHARACTERS = 100

MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "min": min,
    "max": max,
    "all": lambda a, b: bool(a and b),
    "any": lambda a, b: bool(a or b),
    "collect": lambda a, b: [*a, *b],
}
"""How values become one: ``sum`` adds (numbers, arrays), ``collect`` makes a list in order of the partitions."""


def add(into: Partial, name: str, value: Any, how: str) -> None:
    """Merge one value into the aggregate of its name.

    Raises:
        ValueError: if ``how`` is unknown, or another than before.
    """
    if how not in MERGES:
        raise ValueError(f"aggregate({name!r}, how={how!r}): how must be one of {', '.join(MERGES)}")
    before = into.get(name)
    value = [value] if how == "collect" else value
    into[name] = (how, value) if before is None else (how, _merged(name, before, how, value))


def merge(partials: Iterable[Partial]) -> dict[str, Any]:
    """The aggregates of a superstep, from what each partition gave, in order.

    Raises:
        ValueError: if two partitions aggregate one name in different ways, or values that cannot be merged.
    """
    total: Partial = {}
    for partial in partials:
        for name, (how, value) in partial.items():
            before = total.get(name)
            total[name] = (how, value if before is None else _merged(name, before, how, value))
    return {name: value for name, (_, value) in total.items()}


def shown(aggregated: Mapping[str, Any]) -> dict[str, Any]:
    """Aggregates as documents show them: numbers and truth values; whatever JSON does not have as a short text."""
    return {str(name): _plain(value) for name, value in list(aggregated.items())[:_SHOWN]}


def _merged(name: str, before: tuple[str, Any], how: str, value: Any) -> Any:
    if before[0] != how:
        raise ValueError(
            f"aggregate({name!r}) is merged by {before[0]!r} and by {how!r}; use one way for one name"
        )
    try:
        return MERGES[how](before[1], value)
    except MemoryError:
        raise
    except Exception as error:  # whatever the user's values raise
        raise ValueError(
            f"aggregate({name!r}, how={how!r}) cannot merge {short_repr(before[1])} and {short_repr(value)}: {error}"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int)) or value is None:
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, (float, int)):
        return value if math.isfinite(value) else repr(value)
    return short_repr(value)[:_SHOWN_CHARACTERS]
