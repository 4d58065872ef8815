"""Every family as something that can be exported: how it is served when it wins the cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bellwren.forecasting.encoders import Coding, Encoder
from bellwren.forecasting.features import Choices, learn_schema
from bellwren.forecasting.update import Calibration
from bellwren.records.execution import Execution
from training.bellamy.family import Bellamy, BellamyGeneral
from training.cells import by_context
from training.export import Exportable
from training.families import Adaptation, Family, General
from training.graphs import BellamyGraph, TableGraph
from training.ours.family import Ours, OursGeneral

GRID = 96
LEAST_NOISE = 0.02
NO_CONTEXT_SPREAD = 1.0
"""Deviation of log-runtime of a context that a family of single contexts knows nothing of."""


def exportable(family: Family, executions: Sequence[Execution], *, seed: int = 0) -> Exportable:
    """Train a family on all runs of an algorithm, ready for export. Raises ValueError without runs."""
    general = family.fit(executions, seed=seed)
    if isinstance(family, Ours) and isinstance(general, OursGeneral):
        return general.exportable()
    if isinstance(family, Bellamy) and isinstance(general, BellamyGeneral) and general.pretrained:
        model = general.pretrained
        scaling = (model.scaling.low, model.scaling.high)
        half = model.deviation**2 / 2
        graph = BellamyGraph(model.stack, model.at, scaling, offset=half, noise=max(half, LEAST_NOISE**2))
        return _with(family.name, graph, "bits", executions)
    return _with(family.name, tabulate(family, general, executions), "workers", executions)


def tabulate(family: Family, general: General, executions: Sequence[Execution]) -> TableGraph:
    """Adapt to every context with enough runs, and table the curves from half the least scale-out to four times the
    greatest. Contexts with too few runs, and new ones, get the mean curve and a wide offset."""
    workers = np.array([run.workers for run in executions])
    grid = np.geomspace(workers.min() / 2, workers.max() * 4, GRID)
    groups = list(by_context(executions).values())
    enough = [at for at, runs in enumerate(groups) if len(runs) >= family.least_runs]
    adapted = family.adapt_many([Adaptation(general, tuple(groups[at])) for at in enough])
    choices = Choices.grid((x, None) for x in grid)
    tables = np.full((len(groups) + 1, GRID), float(np.median([np.log(run.runtime_s) for run in executions])))
    offsets = np.full(len(groups) + 1, NO_CONTEXT_SPREAD**2)
    squares = []
    for at, model in zip(enough, adapted, strict=True):
        tables[at] = np.log(model.predict(groups[at][0].properties, choices).median_s)
        offsets[at] = LEAST_NOISE**2
        fitted = np.interp(np.log([run.workers for run in groups[at]]), np.log(grid), tables[at])
        squares.append(np.mean((np.log([run.runtime_s for run in groups[at]]) - fitted) ** 2))
    if enough:
        tables[-1] = tables[enough].mean(axis=0)
        others = [at for at in range(len(groups)) if at not in enough]
        tables[others] = tables[-1]
    noise = max(float(np.mean(squares)) if squares else 0.04, LEAST_NOISE**2)
    return TableGraph(np.log(grid), tables, offsets, noise)


def _with(
    name: str, graph: TableGraph | BellamyGraph, coding: Coding, executions: Sequence[Execution]
) -> Exportable:
    schema = learn_schema(executions)
    kinds = {key: kind for run in executions for key, kind in run.kinds.items()}
    algorithm = executions[0].algorithm
    encoder = Encoder(coding, schema, algorithm, kinds)
    contexts = len(schema.contexts)
    return Exportable(name, algorithm, graph, encoder, Calibration(), len(executions), contexts)
