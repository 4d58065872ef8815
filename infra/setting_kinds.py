"""How one setting is read from CDK context, where ``-c key=value`` makes everything a string.

A kind turns what stands in the context into a value of the right type, or raises ``ValueError``. What is
allowed is said once, by the kind, and stands in the message that refuses a wrong value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """One kind of setting."""

    allowed: str
    """What may stand there, as a phrase that completes "allowed: ..."."""
    parse: Callable[[object], Any]
    """Gives the typed value; raises ValueError for anything that is not allowed."""


def whole_number(low: int, high: int) -> Kind:
    """A whole number within bounds, written as a number or as digits."""

    def parse(found: object) -> int:
        if isinstance(found, str) and re.fullmatch(r"-?\d+", found.strip()):
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
            raise ValueError
        return found

    return Kind(f"a whole number from {low} to {high}", parse)


def choice(*values: str) -> Kind:
    """One of a few words."""

    def parse(found: object) -> str:
        if not isinstance(found, str) or found not in values:
            raise ValueError
        return found

    return Kind("one of " + ", ".join(values), parse)


def number_among(values: Iterable[int]) -> Kind:
    """One of a few numbers, written as a number or as digits."""
    numbers = tuple(values)
    inner = whole_number(min(numbers), max(numbers))

    def parse(found: object) -> int:
        number: int = inner.parse(found)
        if number not in numbers:
            raise ValueError
        return number

    return Kind("one of " + ", ".join(map(str, numbers)), parse)


def text(pattern: str, allowed: str) -> Kind:
    """Text of a certain form."""

    def parse(found: object) -> str:
        if not isinstance(found, str) or not re.fullmatch(pattern, found):
            raise ValueError
        return found

    return Kind(allowed, parse)


def flag() -> Kind:
    """True or false."""

    def parse(found: object) -> bool:
        if isinstance(found, str) and found.lower() in ("true", "false"):
            return found.lower() == "true"
        if not isinstance(found, bool):
            raise ValueError  # noqa: TRY004  a kind refuses with ValueError alone
        return found

    return Kind("true or false", parse)


def optional(kind: Kind) -> Kind:
    """The same, or nothing: ``null`` in cdk.json, an empty value on the command line."""

    def parse(found: object) -> Any:
        return None if found is None or found == "" else kind.parse(found)

    return Kind(f"{kind.allowed}, or nothing", parse)


def several(kind: Kind, *, low: int, high: int) -> Kind:
    """A list without repeats: a JSON array, or the values with commas between them."""

    def parse(found: object) -> tuple[Any, ...]:
        values = _listed(found)
        parsed = tuple(kind.parse(value) for value in values)
        if not low <= len(parsed) <= high or len(set(parsed)) != len(parsed):
            raise ValueError
        return parsed

    return Kind(
        f"a list of {low} to {high} different values, each {kind.allowed}, with commas between them", parse
    )


def _listed(found: object) -> list[Any]:
    if isinstance(found, str) and found.lstrip().startswith("["):
        found = json.loads(found)  # JSONDecodeError is a ValueError
    if isinstance(found, str):
        return [value.strip() for value in found.split(",") if value.strip()]
    if isinstance(found, int) and not isinstance(found, bool):
        return [found]
    if not isinstance(found, (list, tuple)):
        raise ValueError  # noqa: TRY004  a kind refuses with ValueError alone
    return list(found)
