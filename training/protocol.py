"""The protocol of the evaluation: leave one context out, show n of its runs, predict the rest.

Scheinert et al., "Bellamy" (2021), section IV, made to hold against the traps in such data: contexts are split, never
repeats; runs are at n distinct scale-outs, one random repeat each; a test scale-out within the range of those shown
is interpolation, one outside (or any, for n = 0) is extrapolation; errors are taken against every repeat of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bellwren.records.execution import BYTES, ITEMS, MACHINE, Execution, Value
from training.cells import by_context

Kind = Literal["interpolation", "extrapolation"]
MOST_RUNS = 6
SPLITS = 4
"""Random choices of the runs shown, for each context and n > 0."""
SIZE_DIFFERENCE = 0.2


@dataclass(frozen=True)
class Test:
    """One cell of the target context that was not shown."""

    kind: Kind
    runs: tuple[Execution, ...]
    """Its repeats."""


@dataclass(frozen=True)
class Task:
    """Runs shown, and cells to predict."""

    context: str
    shown: tuple[Execution, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Fold:
    """One target context."""

    context: str
    general: tuple[Execution, ...]
    """Runs of the contexts that may be learned from."""
    tasks: tuple[Task, ...]


def folds(
    executions: Sequence[Execution],
    *,
    contexts: int | None,
    seed: int,
    filtered: bool = False,
    splits: int = SPLITS,
) -> list[Fold]:
    """Draw target contexts and their tasks by the seed. A context with nothing left to learn from is no target when
    filtered; with a single context in all, there is no general data."""
    grouped = by_context(executions)
    rng = np.random.default_rng(seed)
    order = [list(grouped)[at] for at in rng.permutation(len(grouped))]
    out: list[Fold] = []
    for context in order:
        if contexts is not None and len(out) == contexts:
            break
        target = grouped[context][0]
        general = [
            run
            for key, runs in grouped.items()
            if key != context and (not filtered or differs(runs[0], target))
            for run in runs
        ]
        if filtered and not general:
            continue
        tasks = tuple(_tasks(grouped[context], rng, splits))
        out.append(Fold(context, tuple(general), tasks))
    return out


def differs(run: Execution, target: Execution) -> bool:
    """The filter: another size by a fifth or more, and other job parameters (or, without any, another machine)."""
    parameters = [name for name in target.properties if target.kind(name) == "parameter"]
    compared = parameters or [MACHINE]
    other = [run.properties.get(name) != target.properties.get(name) for name in compared]
    return _other_size(run.properties, target.properties) and all(other)


def _other_size(a: dict[str, Value] | object, b: dict[str, Value] | object) -> bool:
    assert isinstance(a, dict)
    assert isinstance(b, dict)
    for name in (BYTES, ITEMS):
        x, y = a.get(name), b.get(name)
        if isinstance(x, float) and isinstance(y, float):
            return abs(x - y) >= SIZE_DIFFERENCE * y
    return True


def _tasks(runs: Sequence[Execution], rng: np.random.Generator, splits: int) -> Iterator[Task]:
    cells: dict[tuple[object, ...], list[Execution]] = {}
    for run in runs:
        cells.setdefault(run.cell, []).append(run)
    groups = sorted(cells.values(), key=lambda group: (group[0].workers, str(group[0].cell)))
    scale_outs = sorted({group[0].workers for group in groups})
    for count in range(min(MOST_RUNS, len(scale_outs)) + 1):
        for _ in range(splits if count else 1):
            chosen = rng.choice(len(scale_outs), count, replace=False)
            shown_at = sorted(scale_outs[at] for at in chosen)
            picks = [
                [at for at, group in enumerate(groups) if group[0].workers == workers] for workers in shown_at
            ]
            shown_cells = [int(rng.choice(pick)) for pick in picks]
            shown = tuple(groups[at][int(rng.integers(len(groups[at])))] for at in shown_cells)
            hidden = [group for group in groups if group[0].workers not in shown_at]
            tests = tuple(Test(_kind(group[0].workers, shown_at), tuple(group)) for group in hidden)
            if tests:
                yield Task(runs[0].context, shown, tests)


def _kind(workers: float, shown: Sequence[float]) -> Kind:
    inside = bool(shown) and shown[0] < workers < shown[-1]
    return "interpolation" if inside else "extrapolation"
