"""The functions of one job, whatever they came from: a built-in algorithm, the user's zip or a pickled payload."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from bellwren.algorithms.parameters import complete


@dataclass(frozen=True)
class Functions:
    """What a runner calls."""

    map: Callable[[Any], Any] | None = None
    """One item or record → its result, or the pairs it emits."""
    reduce: Callable[[Hashable, Iterable[Any]], Any] | None = None
    combine: Callable[[Hashable, Iterable[Any]], Any] | None = None
    key: Callable[[Any], Any] | None = None
    """What a sort compares of a record; None for the record itself."""
    step: Callable[[Any], None] | None = None
    """One superstep of one partition."""
    train: Callable[[Any], Any] | None = None
    """Trains on one shard, with parameters that all share."""
    present: Callable[[Any], Any] | None = None
    """Makes a result of the final state of a partition; the state itself by default."""
    sure: bool = False
    """``reduce`` is ours and neither fails nor takes its process down, so its calls need not be told apart."""
    flat: bool = False
    """The map's result is an iterable of results."""
    whole: Callable[[Iterable[Any]], Iterable[tuple[Hashable, Any]]] | None = None
    """All records of a chunk, in order → the pairs that they emit together; takes the place of ``map``."""
    count_text: Callable[[bytes], dict[Hashable, Any]] | None = None
    """Whole UTF-8 chunk → total for each key; equal to mapping its lines and combining, at the speed of C."""


def load_builtin(algorithm: str, params: dict[str, Any]) -> Functions:
    """The functions of a built-in algorithm with its parameters bound.

    Raises:
        ValueError: naming the parameters that are wrong.
    """
    module = importlib.import_module(f"bellwren.algorithms.{algorithm}")
    functions: Functions = module.functions(**complete(algorithm, params))
    return functions
