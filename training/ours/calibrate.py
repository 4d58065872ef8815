"""How far real runs lie from what the model says of contexts it has not seen, by the number of runs shown to it.

Leaving out a whole context costs nothing with the inverse of the full covariance matrix at hand: the joint predictive
of its cells given all others has precision K^-1[c, c] (Rasmussen and Williams, "Gaussian Processes for Machine
Learning", 2006, section 5.4.2). Within the context, few-shot updates are played through on random runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bellwren.forecasting.features import Array
from bellwren.forecasting.update import NORMAL, Calibration, Prior, condition
from training.cells import Cells
from training.ours import kernel
from training.ours.fit import General, draw_contexts, targets, total_covariance

CALIBRATED_ON = 360
"""Cells at most: whole contexts, drawn by the seed."""
MOST_RUNS = 6
DRAWS = 4
PRIOR_CONTEXTS = 5.0
"""So many contexts' worth of Gaussian quantiles are mixed in: with few contexts the empirical tail is a guess."""


Places = NDArray[np.int_]


@dataclass(frozen=True)
class LeftOut:
    """The joint predictive of one context's cells, all other contexts given."""

    mean: Array
    covariance: Array
    """Of the expected log-runtimes, the cells' own deviation included. Shape [k, k]."""
    noise: Array
    """Variance of a single run about it. Shape [k]."""
    log_runtimes: tuple[Array, ...]


def leave_out(general: General, cells: Cells, seed: int = 0) -> list[LeftOut]:
    """Predictives of every context (of a drawn sample, if there are many cells), each from the others."""
    sample = cells.only(draw_contexts(cells, CALIBRATED_ON, seed))
    if len(sample.keys) < 2:
        return []
    with torch.no_grad():
        p = kernel.unpack(general.vector, general.layout)
        aim = targets(sample, general.trend, general.noise)
        inverse = torch.linalg.inv(total_covariance(p, general.layout, sample, aim.noise)).numpy()
        factor = float(p["noise"]) ** 2
    values, of_median = aim.values.numpy(), factor * aim.noise.numpy()
    pulled, base = inverse @ values, sample.location - values
    single = factor * general.noise.at(sample.workers)
    out = []
    for context in range(len(sample.keys)):
        here = np.flatnonzero(sample.context_of == context)
        spread = np.linalg.inv(inverse[np.ix_(here, here)])
        out.append(
            LeftOut(
                mean=base[here] + values[here] - spread @ pulled[here],
                covariance=spread - np.diag(of_median[here]),
                noise=single[here],
                log_runtimes=tuple(sample.log_runtimes[at] for at in here),
            )
        )
    return out


def calibrate(left_out: list[LeftOut], seed: int = 0) -> Calibration:
    """5 % and 95 % quantiles of the standardised residuals, every context counting alike."""
    rng = np.random.default_rng(seed)
    low, high = [], []
    for runs in range(MOST_RUNS + 1):
        scores = [_scores(context, runs, rng) for context in left_out]
        scores = [values for values in scores if values.size]
        low.append(_quantile(scores, 0.05, NORMAL[0]))
        high.append(_quantile(scores, 0.95, NORMAL[1]))
    return Calibration(tuple(low), tuple(high))


def _scores(context: LeftOut, runs: int, rng: np.random.Generator) -> Array:
    cells = len(context.mean)
    if runs >= cells:
        return np.zeros(0)
    scores = []
    for _ in range(DRAWS if runs else 1):
        shown = np.sort(rng.choice(cells, runs, replace=False))
        hidden = np.setdiff1d(np.arange(cells), shown)
        picked = np.array([rng.choice(context.log_runtimes[at]) for at in shown])
        mean, variance = condition(_prior(context, hidden, shown), np.exp(picked))
        deviation = np.sqrt(variance + context.noise[hidden])
        for at, cell in enumerate(hidden):
            scores.append((context.log_runtimes[cell] - mean[at]) / deviation[at])
    return np.concatenate(scores)


def _prior(context: LeftOut, hidden: Places, shown: Places) -> Prior:
    return Prior(
        mean=context.mean[hidden],
        variance=np.diag(context.covariance)[hidden],
        noise=context.noise[hidden],
        record_mean=context.mean[shown],
        record_noise=context.noise[shown],
        cross=context.covariance[np.ix_(hidden, shown)],
        record_covariance=context.covariance[np.ix_(shown, shown)],
    )


def _quantile(scores: list[Array], level: float, normal: float) -> float:
    """Weighted quantile of all scores, mixed with the Gaussian's by the number of contexts."""
    if not scores:
        return normal
    values = np.concatenate(scores)
    weights = np.concatenate([np.full(part.size, 1.0 / part.size) for part in scores])
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    found = float(np.interp(level, share, values[order]))
    return (len(scores) * found + PRIOR_CONTEXTS * normal) / (len(scores) + PRIOR_CONTEXTS)
