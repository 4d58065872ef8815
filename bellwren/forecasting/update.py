"""The few-shot update: what a handful of runs of a context say about its other scale-outs, in closed form.

A general model gives, for candidates and for the runs seen so far, means and covariances of log-runtime (the context's
own deviation is part of them). Conditioning on n runs is one solve of n by n. Runs have heavy tails (a slow disk, a
noisy neighbour), so each run's weight is found by a few rounds of iteratively re-weighted least squares, which is the
EM algorithm for Student-t noise (Lange, Little and Taylor, "Robust Statistical Modeling Using the t Distribution",
1989): a run that disagrees with the others counts as little as its disagreement says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bellwren.forecasting.features import Array

DEGREES_OF_FREEDOM = 4.0
"""Of the noise of single runs: the customary choice between Gaussian and Cauchy (Lange et al., section 4)."""
CLIFF = 0.1
"""How often the heaviest choice of a context is taken to lie beyond a cliff before it is seen; the e-folds of its
excess are then exponentially distributed, with mean 1."""
_SAME = 1e-6
_ROUNDS = 6
_LOWER_QUARTILE = 0.6745
LOW, HIGH = 0.05, 0.95
NORMAL = (-1.6448536, 1.6448536)


@dataclass(frozen=True)
class Prior:
    """What a general model says of one context, in log seconds."""

    mean: Array
    """Of each candidate. Shape [B]."""
    variance: Array
    """Of each candidate's expected log-runtime. Shape [B]."""
    noise: Array
    """Variance of a single run about it. Shape [B]."""
    record_mean: Array
    """Of each run seen. Shape [n]."""
    record_noise: Array
    """Shape [n]."""
    cross: Array
    """Covariance of candidates with runs. Shape [B, n]."""
    record_covariance: Array
    """Shape [n, n]."""


@dataclass(frozen=True)
class Calibration:
    """How far real runs lay from what was said, in standard deviations, by the number of runs seen before.

    Found by leaving whole contexts out (split-conformal: the empirical quantile stands in for the Gaussian's).
    """

    low: Sequence[float] = (NORMAL[0],)
    """5 % quantile after 0, 1, 2... runs; the last holds for all further numbers."""
    high: Sequence[float] = (NORMAL[1],)
    """95 % quantile."""

    def at(self, runs: int) -> tuple[float, float]:
        """The factors for a context with this many runs seen."""
        return self.low[min(runs, len(self.low) - 1)], self.high[min(runs, len(self.high) - 1)]

    def as_dict(self) -> dict[str, list[float]]:
        """The form in which it stands in a card."""
        return {"low": list(self.low), "high": list(self.high)}

    @staticmethod
    def from_dict(document: Mapping[str, Sequence[float]]) -> Calibration:
        """Read what `as_dict` wrote."""
        return Calibration(tuple(document["low"]), tuple(document["high"]))


@dataclass(frozen=True)
class Prediction:
    """Runtimes of candidates, in seconds. Every array has shape [B], every number is finite and above 0."""

    median_s: Array
    low_s: Array
    """5 % quantile."""
    high_s: Array
    """95 % quantile: what a deadline is held against."""
    point_s: Array
    """The single number with the least expected relative error; the median wherever the doubt is small."""


def condition(prior: Prior, runtimes_s: Array) -> tuple[Array, Array]:
    """Mean and variance of each candidate's expected log-runtime once these runs are seen. Shapes [B], [B].

    A mixture of two explanations, each weighed by how well it foresees the runs. Either the context is as a whole
    slower or faster than was expected. Or its heaviest choice, the one expected to take longest, lies beyond a cliff
    (the data no longer fits the memory): then it says nothing of lighter candidates. Of others both say alike.
    """
    if runtimes_s.size == 0:
        return prior.mean, prior.variance
    residual = np.log(runtimes_s) - prior.record_mean
    mean, variance = _shifted(prior, residual)
    edge = float(prior.record_mean.max()) - _SAME
    below = prior.mean < edge
    lighter, heaviest = np.flatnonzero(prior.record_mean < edge), np.flatnonzero(prior.record_mean >= edge)
    expected, own = _foreseen(prior, int(heaviest[0]), lighter, residual)
    excess = float(np.median(residual[heaviest])) - expected
    if excess <= 0 or not below.any():
        return mean, variance
    # p(cliff) p(excess | cliff) against (1 - p(cliff)) p(excess | none), the lighter runs given.
    cliff = math.log(CLIFF) - excess
    none = math.log1p(-CLIFF) + _student(excess, own, DEGREES_OF_FREEDOM + lighter.size)
    share = np.where(below, 1 / (1 + math.exp(min(none - cliff, 700.0))), 0.0)
    flat, doubt = prior.mean, prior.variance
    if lighter.size:
        flat, doubt = _shifted(_only(prior, lighter), residual[lighter])
    mixed = (1 - share) * mean + share * flat
    return mixed, (1 - share) * (variance + (mean - mixed) ** 2) + share * (doubt + (flat - mixed) ** 2)


def _only(prior: Prior, runs: NDArray[np.int_]) -> Prior:
    """The same of some of the runs seen."""
    return Prior(
        mean=prior.mean,
        variance=prior.variance,
        noise=prior.noise,
        record_mean=prior.record_mean[runs],
        record_noise=prior.record_noise[runs],
        cross=prior.cross[:, runs],
        record_covariance=prior.record_covariance[np.ix_(runs, runs)],
    )


def _foreseen(prior: Prior, run: int, others: NDArray[np.int_], residual: Array) -> tuple[float, float]:
    """Mean and deviation of one run's residual, by those of the others."""
    covariance, noise = prior.record_covariance, np.maximum(prior.record_noise, 1e-10)
    variance = float(covariance[run, run] + noise[run])
    if not others.size:
        return 0.0, math.sqrt(variance)
    known = covariance[np.ix_(others, others)] + np.diag(noise[others])
    gain = np.linalg.solve(known, np.column_stack([residual[others], covariance[others, run]]))
    mean = float(covariance[run, others] @ gain[:, 0])
    left = max(variance - float(covariance[run, others] @ gain[:, 1]), float(noise[run]))
    distance = float(residual[others] @ gain[:, 0])
    scale = (DEGREES_OF_FREEDOM + distance) / (DEGREES_OF_FREEDOM + others.size)
    return mean, math.sqrt(scale * left)


def _student(value: float, scale: float, freedom: float) -> float:
    """Log density of Student's t."""
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return constant - math.log(scale) - (freedom + 1) / 2 * math.log1p((value / scale) ** 2 / freedom)


def _shifted(prior: Prior, residual: Array) -> tuple[Array, Array]:
    """As `condition`, where the runs tell of the context as a whole."""
    covariance, noise = prior.record_covariance, np.maximum(prior.record_noise, 1e-10)
    weight, scale, runs = np.ones_like(residual), 1.0, residual.size
    for _ in range(_ROUNDS):
        own = scale * covariance
        solved = np.linalg.solve(own + np.diag(noise / weight), np.column_stack([residual, own]))
        pull, shrunk = solved[:, 0], solved[:, 1:]
        fitted = own @ pull
        squares = ((residual - fitted) ** 2 + np.diag(own - own @ shrunk)) / noise
        distance = scale * (pull @ fitted + runs - np.trace(shrunk))
        weight = (DEGREES_OF_FREEDOM + 1) / (DEGREES_OF_FREEDOM + squares)
        scale = (DEGREES_OF_FREEDOM + distance) / (DEGREES_OF_FREEDOM + runs)
    cross = scale * prior.cross
    gain = np.linalg.solve(scale * covariance + np.diag(noise / weight), cross.T)
    mean = prior.mean + gain.T @ residual
    variance = scale * prior.variance - np.einsum("bn,nb->b", cross, gain)
    return mean, np.maximum(variance, 0.0)


def predict(prior: Prior, runtimes_s: Array, calibration: Calibration) -> Prediction:
    """Quantiles of the next run's time for each candidate, after these runs. Raises ValueError if not finite."""
    mean, variance = condition(prior, runtimes_s)
    deviation = np.sqrt(variance + prior.noise)
    low, high = calibration.at(runtimes_s.size)
    return lognormal(mean, deviation, low, high)


def lognormal(mean: Array, deviation: Array, low: float = NORMAL[0], high: float = NORMAL[1]) -> Prediction:
    """Quantiles of log-normal runtimes. Shapes [B].

    The point forecast minimises E|p - T| / T, which is the median of the density weighted by 1/t (Gneiting, "Making
    and Evaluating Point Forecasts", 2011, theorem 9): exp(mean - variance). It never leaves the central half.
    """
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(deviation))):
        raise ValueError("the model answered with numbers that are not finite; its answer is not used")
    median = np.exp(np.clip(mean, math.log(1e-6), math.log(1e9)))
    shift = np.minimum(deviation**2, _LOWER_QUARTILE * deviation)
    return Prediction(
        median_s=median,
        low_s=np.maximum(median * np.exp(low * deviation), 1e-6),
        high_s=median * np.exp(np.minimum(high * deviation, math.log(1e6))),
        point_s=median * np.exp(-shift),
    )
