"""Which order sort keys have: the numbers and texts first, then NaN, then None.

NaN is neither less nor greater than anything, and None compares with nothing, so either would leave its neighbours in
any order. Keys of each rank lie apart and only those of rank ``ORDINARY`` are ever compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bellwren.errors import InputError
from bellwren.payload.text import short_repr

ORDINARY, NAN, NONE = range(3)
RANKS = (ORDINARY, NAN, NONE)

_PLAIN = frozenset({str, int, bytes, bool})


def ranked(key: Any) -> tuple[int, Any]:
    """A key's rank, and what to compare within it (0 where nothing is).

    Within tuples and lists each member is ranked too, so that ``(1, None)`` comes behind ``(1, 2)``.

    Raises:
        TypeError: if the key is an array, which has no order.
    """
    if type(key) in _PLAIN:
        return ORDINARY, key
    if key is None:
        return NONE, 0
    if (sequence := _sequence(key)) is not None:
        return ORDINARY, sequence(part for member in key for part in ranked(member))
    differs = key != key  # noqa: PLR0124  that is how a NaN is known
    try:
        return (NAN, 0) if differs else (ORDINARY, key)
    except ValueError:
        raise TypeError(
            f"a sort key of type {type(key).__name__} has no order; give a key function that returns a number, a text "
            "or a tuple of them"
        ) from None


def _sequence(key: Any) -> type[tuple[Any, ...]] | type[list[Any]] | None:
    """What to make of the ranked members: named tuples compare as tuples do."""
    if type(key) is list:
        return list
    return tuple if isinstance(key, tuple) and type(key).__lt__ is tuple.__lt__ else None


def compare_failed(keys: Sequence[Any], error: BaseException) -> InputError:
    """The error to raise where comparing keys raised one: it shows a key of each type that there is."""
    examples: dict[str, Any] = {}
    for key in keys:
        examples.setdefault(_type_name(key), key)
    shown = "; ".join(f"{name}, such as {short_repr(_original(key))}" for name, key in examples.items())
    return InputError(
        f"the sort keys can't be compared with each other ({type(error).__name__}: {error}). There are keys of type "
        f"{shown}. Give a key function that returns one comparable type for every record"
    )


def _type_name(key: Any) -> str:
    if type(key) in (tuple, list):
        return f"{type(key).__name__} of {', '.join(map(_type_name, _original(key)))}"
    return type(key).__name__


def _original(key: Any) -> Any:
    """A key as the user gave it, from what ``ranked`` made of it."""
    if type(key) not in (tuple, list):
        return key
    pairs = zip(key[::2], key[1::2], strict=True)
    return type(key)({NAN: float("nan"), NONE: None}.get(rank, _original(part)) for rank, part in pairs)
