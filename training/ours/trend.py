"""What is believed of runtimes before the process is asked: slopes, or a curve where there is little to learn from.

With several contexts, the process itself learns how their runtimes fall with the workers. With one or two, a few runs
have to say it all, and the best that is known of such curves is their physical form: Ernest's, fitted to the runs and,
weakly, to the square-root law that holds without any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bellwren.forecasting import scaleout
from bellwren.forecasting.features import LOAD, Array, Schema
from training.cells import Cells
from training.ours.layout import Layout, prior_slopes

FEW_CONTEXTS = 3
"""With fewer contexts than this, the curve is used."""
_RUN_DEVIATION = 0.05
_LAW_DEVIATION = 1.0
_LAW_REACH = 4.0
"""The law is laid on at a quarter of the least and at four times the greatest scale-out seen, as worth little."""


@dataclass(frozen=True)
class Trend:
    """Prior mean of log-runtime, but for a level."""

    properties: Array
    """Slope by column. Shape [P]."""
    rows: Array
    """Slope by column. Shape [R]."""
    curve: Array
    """Ernest's weights, all 0 where slopes alone are used. Shape [4]."""

    def of(self, cells: Cells) -> Array:
        """Of each cell. Shape [N]."""
        slopes: Array = (cells.properties @ self.properties)[cells.context_of] + cells.rows @ self.rows
        return slopes + np.log(scaleout.curve(self.curve, cells.workers)) if self.curve.any() else slopes


def learn_trend(cells: Cells, schema: Schema, layout: Layout) -> Trend:
    """Slopes; with few contexts and more than one scale-out, a curve instead of the workers' slope."""
    properties, rows = prior_slopes(schema, layout)
    if len(cells.keys) >= FEW_CONTEXTS or len(set(cells.workers)) < 2:
        return Trend(properties, rows, np.zeros(scaleout.TERMS))
    columns = schema.columns("row")
    rows = np.zeros_like(rows)
    if LOAD in columns:  # what the load said of the size, now that the workers are the curve's
        properties = 3.0 * properties
    residual = cells.location - (cells.properties @ properties)[cells.context_of]
    centres = np.array([np.median(residual[cells.context_of == at]) for at in range(len(cells.keys))])
    runtimes = np.exp(residual - (centres - centres[0])[cells.context_of])
    return Trend(properties, rows, _curve(cells.workers, runtimes))


def _curve(workers: Array, runtimes_s: Array) -> Array:
    """Non-negative least squares of relative errors, the law included."""
    reach = np.array([workers.min() / _LAW_REACH, workers.max() * _LAW_REACH])
    middle = np.exp(np.log(workers).mean()), np.exp(np.log(runtimes_s).mean())
    law = middle[1] * np.sqrt(middle[0] / reach)
    x = np.concatenate([workers, reach])
    t = np.concatenate([runtimes_s, law])
    weight = 1 / (t * np.concatenate([np.full(len(workers), _RUN_DEVIATION), np.full(2, _LAW_DEVIATION)]))
    return scaleout.fit_weighted(x, t, weight)
