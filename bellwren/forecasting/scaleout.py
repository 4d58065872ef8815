"""Ernest's scale-out curve of one context, by non-negative least squares; small enough to be solved exactly.

Venkataraman et al., "Ernest: Efficient Performance Prediction for Large-Scale Advanced Analytics" (2016):
t(x) = a + b/x + c log x + d x with a, b, c, d >= 0: fixed cost, parallel work, tree aggregation, all-to-one cost.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bellwren.forecasting.features import Array

TERMS = 4


def terms(workers: Array) -> Array:
    """[1, 1/x, log x, x] of each scale-out. Shape [len(workers), 4]."""
    return np.stack([np.ones_like(workers), 1.0 / workers, np.log(workers), workers], axis=1)


def fit(workers: Array, runtimes_s: Array) -> Array:
    """Weights a, b, c, d. Shape [4]. Raises ValueError without runs.

    With four terms the non-negative optimum is found by trying every subset of them: it is the best of those
    unconstrained solutions that come out non-negative (the Karush-Kuhn-Tucker conditions).
    """
    if workers.size == 0:
        raise ValueError("no runs: a scale-out curve needs at least one")
    return fit_weighted(workers, runtimes_s, np.ones_like(runtimes_s))


def fit_weighted(workers: Array, runtimes_s: Array, weight: Array) -> Array:
    """The same for weighted errors: each run's error is multiplied by its weight before it is squared."""
    design = terms(workers) * weight[:, None]
    runtimes_s = runtimes_s * weight
    best, least = np.zeros(TERMS), float((runtimes_s**2).sum())
    for size in range(1, TERMS + 1):
        for subset in combinations(range(TERMS), size):
            columns = design[:, subset]
            scale = np.maximum(np.abs(columns).max(axis=0), 1e-12)
            solution = np.linalg.lstsq(columns / scale, runtimes_s, rcond=1e-10)[0] / scale
            if solution.min() < 0:
                continue
            error = float(((columns @ solution - runtimes_s) ** 2).sum())
            if error < least * (1 - 1e-9) - 1e-18:
                best, least = np.zeros(TERMS), error
                best[list(subset)] = solution
    return best


def curve(weights: Array, workers: Array) -> Array:
    """Runtimes in seconds; above 0 wherever any weight is. Shape [len(workers)]."""
    out: Array = terms(workers) @ weights
    return np.maximum(out, 1e-6)
