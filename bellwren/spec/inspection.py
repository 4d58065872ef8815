"""One walk over a JSON value that names every part of it which not every reader of JSON would see alike."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bellwren.errors import Fault, SpecError
from bellwren.spec.wording import Place, kind_of, path, quoted

MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
"""A document is configuration: larger inputs lie in S3 and are named by ``input``."""

MAX_VALUES = 1_000_000
"""Values in a document, so that its reading takes bounded memory (two bytes of text can become sixty of list)."""

MAX_DEPTH = 64
"""Levels of lists and objects in a document."""

MAX_NUMBER_BITS = 1_024
"""Whole numbers beyond this (about 1.8e308) are infinite for every reader that has only doubles."""

MAX_LISTED_FAULTS = 100
"""Faults that are put into words; of the others only the number is told."""

TOO_DEEP = (
    f"more than {MAX_DEPTH} levels of lists and objects inside each other",
    f"at most {MAX_DEPTH} levels; flatten the value",
)
_PLAIN = frozenset({int, float, bool, type(None)})
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Reading:
    """A JSON value and what is to be objected to in it."""

    value: Any
    """Dicts, lists, texts, numbers, booleans, None; None also at each refused place."""
    faults: tuple[Fault, ...]
    """The first ``MAX_LISTED_FAULTS`` of them."""
    unlisted: int
    """How many more there are."""
    refused: frozenset[Place]
    """Places of the faults that are about a value (not about a repeated name)."""


class Repeated(dict[str, Any]):
    """An object in which names stand more than once; holds the last value of each, as most readers do."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: dict[str, int] = {}
        for name, _ in pairs:
            seen[name] = seen.get(name, 0) + 1
        self.counts = {name: times for name, times in seen.items() if times > 1}


@dataclass(frozen=True)
class NotFinite:
    """A number that is none: ``NaN``, ``Infinity``, ``1e400``, or a whole number without bound."""

    text: str


class Inspector:
    """The walk: in place where the value is ours, else over copies of its containers. Used once."""

    def __init__(self, *, owned: bool) -> None:
        self._owned = owned
        self._faults: list[Fault] = []
        self._unlisted = 0
        self._refused: set[Place] = set()
        self._steps: list[str | int] = []
        self._open: set[int] = set()
        self._bytes_left = MAX_DOCUMENT_BYTES
        self._values_left = MAX_VALUES

    def read(self, value: Any) -> Reading:
        """Walk the value. Raises :class:`SpecError` where a value built in Python exceeds every document."""
        inspected = self._inspect(value)
        return Reading(inspected, tuple(self._faults), self._unlisted, frozenset(self._refused))

    def _inspect(self, value: Any) -> Any:
        """The value, or what stands for it where it is refused."""
        if self._is_plain(value):
            return value
        if value is None or isinstance(value, bool):
            self._charge(2)
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._container(value, self._members)
        if isinstance(value, list | tuple):
            return self._container(value, self._elements)
        return self._number(value)

    def _is_plain(self, value: Any) -> bool:
        """Whether the parser vouches for the value: most are so, and the walk is short for them."""
        sort = type(value)
        return self._owned and (sort in _PLAIN or (sort is str and value.isascii()))

    def _text(self, value: str) -> str | None:
        self._charge(len(value) + 3)
        if not value.isascii() and _SURROGATE.search(value):
            self._refuse(
                quoted(value, 60),
                "text that UTF-8 can carry; half of a surrogate pair (\\ud800 to \\udfff) stands alone in it",
            )
            return None
        return value if type(value) is str else str.__str__(value)

    def _number(self, value: Any) -> Any:
        self._charge(2)
        if isinstance(value, NotFinite):
            return self._not_finite(value.text)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else self._not_finite(str(float(value)))
        try:
            whole = operator.index(value)
        except TypeError:
            self._refuse(
                kind_of(value), "what JSON can say: text, numbers, true, false, null, lists, objects"
            )
            return None
        if whole.bit_length() > MAX_NUMBER_BITS:
            return self._not_finite(f"a whole number of {whole.bit_length():,} bits")
        return whole

    def _container(self, value: Any, walk: Callable[[Any], Any]) -> Any:
        if len(self._steps) >= MAX_DEPTH:
            self._refuse(*TOO_DEEP)
            return None
        if id(value) in self._open:
            self._refuse("a value that contains itself", "values that end")
            return None
        self._charge(2)
        self._open.add(id(value))
        walked = walk(value)
        self._open.remove(id(value))
        return walked

    def _elements(self, value: Any) -> list[Any]:
        elements: list[Any] = value if self._owned else list(value)
        for position, element in enumerate(elements):
            if self._is_plain(element):
                continue
            self._steps.append(position)
            elements[position] = self._inspect(element)
            self._steps.pop()
        return elements

    def _members(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Repeated):
            self._object_to_repeats(value)
        members: dict[str, Any] = {}
        for name, member in value.items():
            if not isinstance(name, str):
                self._note(f"a key that is {kind_of(name)}", "keys that are text, as in JSON")
                continue
            self._steps.append(name)
            known_name = self._text(name)
            if known_name is not None:
                members[known_name] = self._inspect(member)
            self._steps.pop()
        return members

    def _object_to_repeats(self, value: Repeated) -> None:
        for name, times in value.counts.items():
            self._steps.append(name)
            self._note(
                f"the name {quoted(name, 60)} {times} times in one object",
                "each name once in an object; keep the one that you mean",
            )
            self._steps.pop()

    def _not_finite(self, shown: str) -> Any:
        self._refuse(
            shown[:40] + ("…" if len(shown) > 40 else ""),
            "a finite number below 1.8e308; JSON has no NaN and no Infinity, write null or leave it out",
        )
        return None

    def _refuse(self, found: str, allowed: str) -> None:
        if self._note(found, allowed):
            self._refused.add(tuple(self._steps))

    def _note(self, found: str, allowed: str) -> bool:
        if len(self._faults) >= MAX_LISTED_FAULTS:
            self._unlisted += 1
            return False
        self._faults.append(Fault(path(tuple(self._steps)), found, allowed))
        return True

    def _charge(self, size_bytes: int) -> None:
        """Bound the walk over a value built in Python, whose shared parts can make it endless."""
        if self._owned:
            return
        self._bytes_left -= size_bytes
        self._values_left -= 1
        if self._bytes_left < 0:
            raise SpecError([too_large()])
        if self._values_left < 0:
            raise SpecError([too_many_values()])


def too_many_values() -> Fault:
    """The fault of a document of countless small values."""
    return Fault(
        "",
        f"more than {MAX_VALUES:,} values",
        f"at most {MAX_VALUES:,} values; put large data in S3 and name it with `input`",
    )


def too_large() -> Fault:
    """The fault of a document that exceeds the limit."""
    return Fault(
        "",
        f"more than {MAX_DOCUMENT_BYTES:,} bytes",
        f"at most {MAX_DOCUMENT_BYTES:,} bytes (8 MiB); put large data in S3 and name it with `input`",
    )
