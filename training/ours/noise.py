"""How much repeats of one cell differ, by scale-out: the noise that no model can foresee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bellwren.forecasting.features import Array
from training.cells import Cells

PRIOR_DEVIATION = 0.04
"""Repeats of a batch job commonly lie some per cent apart; this much is believed before any repeat is seen."""
PRIOR_WEIGHT = 4.0
"""Degrees of freedom that the prior counts for."""
MEDIAN_LOSS = 1.3
"""Variance of the median of three to seven values over that of their mean (pi/2 in the limit)."""


@dataclass(frozen=True)
class NoiseTable:
    """Variance of a single run's log-runtime, pooled over contexts at each scale-out."""

    log_workers: Array
    """Scale-outs at which repeats were seen. Shape [S]."""
    log_variance: Array
    """Shape [S]."""

    def at(self, workers: Array) -> Array:
        """Variance at scale-outs seen in training: their own pooled value. Shape [len(workers)]."""
        nearest = np.abs(np.log(workers)[:, None] - self.log_workers[None, :]).argmin(axis=1)
        variance: Array = np.exp(self.log_variance[nearest])
        return variance


def learn_noise(cells: Cells) -> NoiseTable:
    """Pool the variance within cells at each scale-out, shrunk towards that of all scale-outs, which is shrunk towards
    the prior (inverse-gamma priors: the weights are degrees of freedom)."""
    squares: dict[float, float] = {}
    freedom: dict[float, float] = {}
    for workers, values in zip(cells.workers, cells.log_runtimes, strict=True):
        at = float(workers)
        squares[at] = squares.get(at, 0.0) + float(((values - values.mean()) ** 2).sum())
        freedom[at] = freedom.get(at, 0.0) + len(values) - 1
    overall = (sum(squares.values()) + PRIOR_WEIGHT * PRIOR_DEVIATION**2) / (
        sum(freedom.values()) + PRIOR_WEIGHT
    )
    scale_outs = sorted(squares)
    variance = [(squares[at] + PRIOR_WEIGHT * overall) / (freedom[at] + PRIOR_WEIGHT) for at in scale_outs]
    return NoiseTable(np.log(scale_outs), np.log(variance))


def of_location(noise: Array, repeats: Array) -> Array:
    """Variance of a cell's median, from that of one run. Shape [N]."""
    return noise / repeats * np.where(repeats >= 3, MEDIAN_LOSS, 1.0)
