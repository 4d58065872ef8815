"""From runs on a sample to runtime and cost of the whole job, with what is not known of them.

For each memory size Ernest's curve (see ``bellwren.forecasting.scaleout``) is fitted to the sample's runs; of its
terms the parallel work grows with the input, the others do not. Doubt comes from the residuals: they are drawn again
on the fitted curve, and everything is fitted anew (a residual bootstrap, Efron 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bellwren.forecasting import scaleout
from bellwren.forecasting.costs import cost_of_many
from bellwren.forecasting.features import Array

DRAWS = 200
NEAR = 1.05
"""A choice counts as good in a draw if no other is better by more than this factor."""
_LEAST_NOISE = 0.02
"""Two runs that happen to agree to the millisecond are no proof that a third will."""


@dataclass(frozen=True)
class Run:
    """A run on the sample that succeeded."""

    workers: int
    memory_mb: int
    runtime_s: float
    cost_usd: float
    disturbed: bool = False
    """With a cold start, or short of processors."""


def usable(runs: Sequence[Run]) -> list[Run]:
    """Without the disturbed runs of cells that have others."""
    calm = {(run.workers, run.memory_mb) for run in runs if not run.disturbed}
    return [run for run in runs if not run.disturbed or (run.workers, run.memory_mb) not in calm]


@dataclass(frozen=True)
class Curves:
    """Forecasts of the whole job for the candidates, one of them for each draw."""

    workers: Array
    """Shape [C]."""
    memory_mb: Array
    runtime_s: Array
    """Shape [C]: the fit itself."""
    drawn_s: Array
    """Shape [DRAWS, C]: curves as they might have come out."""
    noise: Array
    """Shape [C]: standard deviation of the logarithm of a run."""


def fitted(runs: Sequence[Run], share: float, scale_outs: Sequence[int], seed: int = 0) -> Curves:
    """Fit every memory size that ran at two scale-outs at least.

    Args:
        runs: on the sample.
        share: of the input that the sample was.
        scale_outs: numbers of workers to forecast for.
        seed: of the draws.

    Raises:
        ValueError: if no memory size ran at two scale-outs.
    """
    random = np.random.default_rng(seed)
    whole = np.array([1.0, 1.0 / share, 1.0, 1.0])
    candidates = np.array(sorted(scale_outs), dtype=float)
    parts: list[tuple[int, Array, Array, float]] = []
    for memory_mb in sorted({run.memory_mb for run in runs}):
        mine = [run for run in runs if run.memory_mb == memory_mb]
        workers, seconds = (
            np.array([getattr(run, name) for run in mine], dtype=float) for name in ("workers", "runtime_s")
        )
        if len(set(workers)) < 2:
            continue
        expected = scaleout.curve(_fit(workers, seconds), workers)
        residuals = np.log(seconds / expected)
        freedom = max(1, len(mine) - len(set(workers)))
        noise = max(_LEAST_NOISE, float(np.sqrt((residuals**2).sum() / freedom)))
        drawn = [
            scaleout.curve(
                _fit(workers, expected * np.exp(random.normal(0, noise, len(mine)))) * whole, candidates
            )
            for _ in range(DRAWS)
        ]
        point = scaleout.curve(_fit(workers, seconds) * whole, candidates)
        parts.append((memory_mb, point, np.array(drawn), noise))
    if not parts:
        raise ValueError("no memory size ran at two scale-outs, so nothing can be said of others")
    return Curves(
        workers=np.tile(candidates, len(parts)),
        memory_mb=np.repeat([float(memory_mb) for memory_mb, *_ in parts], len(candidates)),
        runtime_s=np.concatenate([point for _, point, *_ in parts]),
        drawn_s=np.concatenate([drawn for _, _, drawn, _ in parts], axis=1),
        noise=np.repeat([noise for *_, noise in parts], len(candidates)),
    )


def _fit(workers: Array, seconds: Array) -> Array:
    """By relative error: a second in ten is as bad as ten in a hundred."""
    return scaleout.fit_weighted(workers, seconds, 1.0 / seconds)


def rows(curves: Curves, measured: Iterable[int]) -> list[dict[str, Any]]:
    """A row for each candidate: runtime and cost of the whole job, each with the range of 95 of 100 runs."""
    random = np.random.default_rng(1)
    draws = curves.drawn_s * np.exp(random.normal(0, 1, curves.drawn_s.shape) * curves.noise)
    low_s, high_s = np.quantile(draws, [0.025, 0.975], axis=0)
    low_s, high_s = np.minimum(low_s, curves.runtime_s), np.maximum(high_s, curves.runtime_s)
    beyond = max(measured)
    cost, low_usd, high_usd = (
        cost_of_many(curves.workers, curves.memory_mb, seconds)
        for seconds in (curves.runtime_s, low_s, high_s)
    )
    return [
        {
            "workers": int(curves.workers[at]),
            "memory_mb": int(curves.memory_mb[at]),
            "runtime_s": float(curves.runtime_s[at]),
            "runtime_range_s": [float(low_s[at]), float(high_s[at])],
            "cost_usd": float(cost[at]),
            "cost_range_usd": [float(low_usd[at]), float(high_usd[at])],
            "extrapolated": bool(curves.workers[at] > beyond),
        }
        for at in range(len(curves.workers))
    ]


def keeping(
    forecasts: Sequence[Mapping[str, Any]], deadline_s: float | None, budget_usd: float | None
) -> list[bool]:
    """Which of the ``rows`` keep both limits, even at the dear and slow end of their ranges."""
    return [
        (deadline_s is None or row["runtime_range_s"][1] <= deadline_s)
        and (budget_usd is None or row["cost_range_usd"][1] <= budget_usd)
        for row in forecasts
    ]


def choices(curves: Curves, balance: float, keeps: Sequence[bool] = ()) -> dict[str, tuple[int, float]]:
    """For ``cost``, ``time`` and ``balanced`` the place of the best candidate, and how sure that is.

    ``balanced`` weighs cost (``balance``) against time, each as a share of the dearest and the slowest candidate, as
    AWS Lambda Power Tuning does. How sure: in what share of the draws no other candidate is better by more than 5 %.
    Only candidates that ``keeps`` marks count, if there are any.
    """
    among = np.array(keeps if any(keeps) else [True] * len(curves.workers))
    point = _scores(curves, curves.runtime_s[None, :], balance)
    drawn = _scores(curves, curves.drawn_s, balance)
    found = {}
    for name, score in point.items():
        place = int(np.where(among, score[0], np.inf).argmin())
        best = np.where(among, drawn[name], np.inf).min(axis=1)
        found[name] = place, float((drawn[name][:, place] <= NEAR * best).mean())
    return found


def _scores(curves: Curves, seconds: Array, balance: float) -> Mapping[str, Array]:
    """What is to be small, by strategy. Shapes [D, C]."""
    cost = np.array([cost_of_many(curves.workers, curves.memory_mb, one) for one in seconds])
    share = (one / one.max(axis=1, keepdims=True) for one in (cost, seconds))
    dear, slow = share
    return {"cost": cost, "time": seconds, "balanced": balance * dear + (1 - balance) * slow}
