"""Bell: the parametric curve of Ernest or local regression, whichever predicts held-out runs better.

Thamsen et al., "Selecting Resources for Distributed Dataflow Systems According to Runtime Targets" (2016): a parametric
and a non-parametric scale-out model are compared by leave-one-out cross-validation on the runs of one context. The
non-parametric one is local linear regression; ours weighs runs by a Gaussian kernel as wide as their median gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bellwren.forecasting import scaleout
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction, lognormal
from bellwren.records.execution import Execution, Value
from training import families
from training.ernest import deviation, points

Regression = Callable[[Array, Array, Array], Array]
"""(scale-outs, runtimes, scale-outs asked) -> runtimes."""


class Bell(families.Family):
    """Parametric or non-parametric, by cross-validation."""

    name = "bell"
    least_runs = 3

    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> BellGeneral:
        """There is nothing to learn from other contexts."""
        return BellGeneral()


@dataclass(frozen=True)
class BellGeneral(families.General):
    """Nothing."""

    def adapt(self, runs: Sequence[Execution]) -> BellAdapted:
        """Choose the regression. Raises ValueError without runs."""
        workers, runtimes = points(runs)
        parametric, local = held_out(ernest, workers, runtimes), held_out(local_linear, workers, runtimes)
        chosen = local_linear if np.mean(local**2) < np.mean(parametric**2) else ernest
        return BellAdapted(chosen, workers, runtimes, local if chosen is local_linear else parametric)


@dataclass(frozen=True)
class BellAdapted(families.Adapted):
    """The regression chosen for one context."""

    regression: Regression
    workers: Array
    runtimes_s: Array
    residuals: Array
    """Relative, of each run held out."""

    def predict(self, properties: Mapping[str, Value], choices: Choices) -> Prediction:
        """The curve, with a log-normal band from its held-out residuals."""
        runtimes = np.maximum(self.regression(self.workers, self.runtimes_s, choices.workers), 1e-6)
        return lognormal(np.log(runtimes), np.full_like(runtimes, deviation(self.residuals)))


def ernest(workers: Array, runtimes_s: Array, asked: Array) -> Array:
    """Ernest's curve through the runs."""
    return scaleout.curve(scaleout.fit(workers, runtimes_s), asked)


def local_linear(workers: Array, runtimes_s: Array, asked: Array) -> Array:
    """Local linear regression; with a slope only where the neighbours span one. Shape [len(asked)]."""
    distinct = np.unique(workers)
    width = float(np.median(np.diff(distinct))) if distinct.size > 1 else 1.0
    out = np.empty_like(asked)
    for at, x in enumerate(asked):
        distance = (workers - x) / width
        weights = np.exp(-0.5 * (distance**2 - (distance**2).min()))
        centre = float((weights * workers).sum() / weights.sum())
        level = float((weights * runtimes_s).sum() / weights.sum())
        spread = float((weights * (workers - centre) ** 2).sum())
        slope = (
            float((weights * (workers - centre) * runtimes_s).sum()) / spread
            if spread > 1e-9 * width**2
            else 0.0
        )
        out[at] = level + slope * (x - centre)
    return out


def held_out(regression: Regression, workers: Array, runtimes_s: Array) -> Array:
    """Relative residual of each run, predicted from the others; from itself where it is the only one."""
    if workers.size == 1:
        return np.zeros(1)
    kept = [np.arange(workers.size) != at for at in range(workers.size)]
    predicted = [
        float(regression(workers[others], runtimes_s[others], workers[~others])[0]) for others in kept
    ]
    return runtimes_s / np.maximum(predicted, 1e-6) - 1.0
