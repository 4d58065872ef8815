"""A document between its fields and its rules: what is given, what of it is sound, and what follows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bellwren.algorithms.parameters import ALGORITHMS, Algorithm
from bellwren.spec.document import KINDS
from bellwren.spec.sections import ROLES, SOURCES


@dataclass(frozen=True)
class Draft:
    """What the rules between fields look at; they say nothing where a field that they need is faulty itself."""

    document: dict[str, Any]
    """Known and given fields; values at faulty places are not to be trusted."""
    faulty: frozenset[str]
    """Fields at the top that have a fault in them."""
    available_kinds: Collection[str] = KINDS
    available_inputs: Collection[str] = SOURCES

    def given(self, field: str) -> bool:
        """Whether the field is there, rightly or wrongly."""
        return field in self.document or field in self.faulty

    def sound(self, field: str) -> Any:
        """The value of a field that is given and has no fault, else None."""
        return None if field in self.faulty else self.document.get(field)

    def section(self, field: str) -> dict[str, Any]:
        """The names in an object of the document, also where values in it are faulty."""
        value = self.document.get(field)
        return value if isinstance(value, dict) else {}

    @cached_property
    def entries(self) -> list[str]:
        """Roles that have a ``module:function``."""
        return [role for role in ROLES if self.given(role)]

    @cached_property
    def pickled(self) -> list[str]:
        """Roles that have a pickled function."""
        return [role for role in ROLES if role in self.section("payload")]

    @cached_property
    def brings_code(self) -> bool:
        """Whether the document names functions of the user's own, or means to."""
        return bool(self.entries) or self.given("code") or self.given("payload")

    @cached_property
    def builtin(self) -> Algorithm | None:
        """The built-in algorithm that the document asks for."""
        if self.brings_code:
            return None
        if not self.given("algorithm") and self.sound("kind") == "sort":
            return ALGORITHMS["sort"]
        name = self.sound("algorithm")
        return ALGORITHMS.get(name) if isinstance(name, str) else None

    @cached_property
    def kind(self) -> str | None:
        """The kind of job, given or implied; nothing where that cannot be told."""
        if self.given("kind"):
            kind = self.sound("kind")
            return kind if isinstance(kind, str) else None
        return self.builtin.kinds[0] if self.builtin else None
