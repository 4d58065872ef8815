"""Functions that tests ship to workers: in a module that is imported there in no time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def once(record: Any) -> list[tuple[Any, int]]:
    return [(record, 1)]


def total(_: Any, values: Iterable[int]) -> int:
    return sum(values)
