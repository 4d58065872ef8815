"""Runs gathered into cells: all repeats of one context at one choice of workers, memory and slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bellwren.forecasting.features import Array, Choices, Schema
from bellwren.records.execution import Execution


@dataclass(frozen=True)
class Cells:
    """N cells in C contexts, encoded."""

    properties: Array
    """One row for each context. Shape [C, P]."""
    rows: Array
    """One row for each cell. Shape [N, R]."""
    context_of: NDArray[np.int64]
    """Which context a cell belongs to. Shape [N]."""
    workers: Array
    """Shape [N]."""
    log_runtimes: tuple[Array, ...]
    """Log seconds of every repeat, for each cell."""
    keys: tuple[str, ...]
    """Keys of the contexts. Length C."""

    def __len__(self) -> int:
        return len(self.context_of)

    @property
    def location(self) -> Array:
        """Median log-runtime of each cell: one slow repeat of five does not move it. Shape [N]."""
        return np.array([np.median(values) for values in self.log_runtimes])

    @property
    def repeats(self) -> Array:
        """Shape [N]."""
        return np.array([float(len(values)) for values in self.log_runtimes])

    def only(self, contexts: Sequence[int]) -> Cells:
        """The cells of some of the contexts."""
        place = {context: at for at, context in enumerate(contexts)}
        kept = [at for at, context in enumerate(self.context_of) if context in place]
        return Cells(
            self.properties[list(contexts)],
            self.rows[kept],
            np.array([place[int(self.context_of[at])] for at in kept], dtype=np.int64),
            self.workers[kept],
            tuple(self.log_runtimes[at] for at in kept),
            tuple(self.keys[context] for context in contexts),
        )


def by_context(executions: Iterable[Execution]) -> dict[str, list[Execution]]:
    """Runs of each context, contexts in the order of their keys."""
    found: dict[str, list[Execution]] = defaultdict(list)
    for run in executions:
        found[run.context].append(run)
    return dict(sorted(found.items()))


def gather(executions: Iterable[Execution], schema: Schema) -> Cells:
    """Gather runs into cells, in the order of context and choice."""
    properties, rows, context_of, workers, runtimes, keys = [], [], [], [], [], []
    for number, (key, runs) in enumerate(by_context(executions).items()):
        cells: dict[str, list[Execution]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: (run.workers, str(run.cell))):
            cells[str(run.cell)].append(run)
        firsts = [repeats[0] for repeats in cells.values()]
        keys.append(key)
        properties.append(schema.properties(firsts[0].properties))
        rows.append(schema.rows(firsts[0].properties, Choices.of(firsts)))
        context_of += [number] * len(firsts)
        workers += [run.workers for run in firsts]
        runtimes += [np.log([run.runtime_s for run in repeats]) for repeats in cells.values()]
    return Cells(
        np.array(properties).reshape(len(keys), -1),
        np.concatenate(rows),
        np.array(context_of, dtype=np.int64),
        np.array(workers),
        tuple(runtimes),
        tuple(keys),
    )
