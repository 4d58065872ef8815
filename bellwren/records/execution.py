"""One measured run, as the runtime models see it: where it ran, what it was given, and how long it took.

Records of any system come down to this: the reader of own records (`labels.py`) and the importer of others'
(`importing.py`) both make `Execution`s, in one set of units and with the resources *per worker*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Value: TypeAlias = float | str
"""A property is a number or a text; a missing one is not in the mapping."""
Kind: TypeAlias = Literal["size", "parameter", "characteristic", "environment", "resource", "parallelism"]
"""What a property says: how much data, an argument of the job, what the data is like, where it ran, what a worker has,
or into how many tasks the work falls."""

BYTES = "bytes"
ITEMS = "items"
TASKS = "tasks"
MEMORY_MB = "memory_mb"
SLOTS = "slots"
MACHINE = "machine_type"
RESOURCES = frozenset({MEMORY_MB, SLOTS})
"""What one worker has. They are chosen with the scale-out, so they do not make another context."""

KINDS: Mapping[str, Kind] = {
    BYTES: "size",
    ITEMS: "size",
    TASKS: "parallelism",
    MEMORY_MB: "resource",
    SLOTS: "resource",
    MACHINE: "environment",
}
"""The kinds of the properties that have a name of their own here."""

LEAST_S, LONGEST_S = 1e-6, 365.0 * 24 * 3600
"""Runtimes are measured in whole microseconds, and an execution of Step Functions ends after a year."""
MOST_WORKERS = 1e6
_MOST: Mapping[str, float] = {BYTES: 1e24, ITEMS: 1e18, TASKS: 1e12, MEMORY_MB: 1e9, SLOTS: 1e6}
"""What no run has more of. One absurd number would stretch the scale on which all others are told apart."""


@dataclass(frozen=True)
class Execution:
    """One run of an algorithm that ended well."""

    algorithm: str
    workers: float
    """Scale-out: how many machines or workers ran at once."""
    runtime_s: float
    properties: Mapping[str, Value] = field(default_factory=dict)
    """What is known before the run, by name: `bytes`, `items`, `tasks`, `memory_mb` and `slots` (of one worker),
    `machine_type`, and any parameters and data characteristics."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What each property of another name says; one that is not named counts as a characteristic."""
    source: str = ""
    """Where it was read: file and line, or key and job id."""

    def __post_init__(self) -> None:
        """Raises ValueError, naming the number that cannot be."""
        if not (math.isfinite(self.workers) and 0 < self.workers <= MOST_WORKERS):
            raise ValueError(
                f"workers is {self.workers!r}; it must be a number above 0 and at most {MOST_WORKERS:g}"
            )
        if not (math.isfinite(self.runtime_s) and LEAST_S <= self.runtime_s <= LONGEST_S):
            raise ValueError(
                f"the runtime is {self.runtime_s!r} s; it must be a number from {LEAST_S:g} to {LONGEST_S:,.0f}"
            )
        for name, value in self.properties.items():
            if isinstance(value, str):
                continue
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value!r}; a number must be finite")
            if name in _MOST and not (0 <= value <= _MOST[name] and (value > 0 or name not in RESOURCES)):
                least = "above 0" if name in RESOURCES else "at least 0"
                raise ValueError(f"{name} is {value!r}; it must be {least} and at most {_MOST[name]:g}")

    def kind(self, name: str) -> Kind:
        """What the property of this name says."""
        return KINDS.get(name) or self.kinds.get(name, "characteristic")

    @property
    def context(self) -> str:
        """Key of the context: everything but the scale-out and what one worker has. Runs of one context are repeats
        of each other, and are never split between training and test."""
        return context_key(self.properties)

    @property
    def cell(self) -> tuple[float, Value | None, Value | None]:
        """What was chosen for the run: (workers, memory_mb, slots)."""
        return (self.workers, self.properties.get(MEMORY_MB), self.properties.get(SLOTS))


def context_key(properties: Mapping[str, Value]) -> str:
    """Properties but the resources of a worker, in a fixed order: ``bytes=1000|k=3``."""
    rest = sorted(name for name in properties if name not in RESOURCES)
    return "|".join(f"{name}={_text(properties[name])}" for name in rest)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{float(value):.12g}"
