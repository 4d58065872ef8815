"""Ernest as a family: one curve for one context, nothing carried over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bellwren.forecasting import scaleout
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction, lognormal
from bellwren.records.execution import Execution, Value
from training import families

PRIOR_DEVIATION = 0.1
PRIOR_RUNS = 3.0
"""Ernest states no doubt of its own. Ours for it: the relative residuals, mixed with 10 % worth three runs."""


class Ernest(families.Family):
    """Venkataraman et al. 2016; see `bellwren.forecasting.scaleout`."""

    name = "ernest"
    least_runs = 2

    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> ErnestGeneral:
        """There is nothing to learn from other contexts."""
        return ErnestGeneral()


@dataclass(frozen=True)
class ErnestGeneral(families.General):
    """Nothing."""

    def adapt(self, runs: Sequence[Execution]) -> Curve:
        """Fit the curve. Raises ValueError without runs."""
        workers, runtimes = points(runs)
        return Curve(scaleout.fit(workers, runtimes), workers, runtimes)


@dataclass(frozen=True)
class Curve(families.Adapted):
    """One context's curve."""

    weights: Array
    workers: Array
    runtimes_s: Array

    def predict(self, properties: Mapping[str, Value], choices: Choices) -> Prediction:
        """The curve, with a log-normal band from its residuals."""
        residual = self.runtimes_s / scaleout.curve(self.weights, self.workers) - 1.0
        mean = np.log(scaleout.curve(self.weights, choices.workers))
        return lognormal(mean, np.full_like(mean, deviation(residual)))


def points(runs: Sequence[Execution]) -> tuple[Array, Array]:
    """Scale-outs and runtimes of runs, by scale-out."""
    ordered = sorted(runs, key=lambda run: run.workers)
    return np.array([run.workers for run in ordered]), np.array([run.runtime_s for run in ordered])


def deviation(residuals: Array) -> float:
    """Relative deviation of runs about a curve."""
    squares = float((residuals**2).sum()) + PRIOR_RUNS * PRIOR_DEVIATION**2
    return float(np.sqrt(squares / (residuals.size + PRIOR_RUNS)))
