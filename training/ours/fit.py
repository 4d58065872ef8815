"""Learn the kernel's parameters and the posterior from cells.

Parameters maximise the marginal likelihood times their priors (type-II MAP, L-BFGS). The posterior keeps at most
`INDUCING` cells: with that many or fewer it is exact, with more it is the FITC approximation (Snelson and Ghahramani,
"Sparse Gaussian Processes using Pseudo-inputs", 2006), its cells chosen by pivoted Cholesky, so that a forecast costs
the same however many records there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]
from torch import Tensor

from bellwren.forecasting.features import Array, Schema
from training.cells import Cells
from training.ours import kernel
from training.ours.layout import Layout, initial, lay_out
from training.ours.noise import NoiseTable, learn_noise, of_location
from training.ours.trend import Trend, learn_trend

INDUCING = 72
"""Measured on four algorithms of the C3O data: 112 are no more exact (a hundredth of the error), and a third slower."""
LEARNED_FROM = 220
"""Cells that the parameters are learned from at most: whole contexts, drawn by the seed."""
POSTERIOR_FROM = 6000
"""Cells that the posterior is conditioned on at most."""
ITERATIONS = 60
_JITTER = 1e-8


@dataclass(frozen=True)
class General:
    """What was learned of one algorithm: parameters, and the posterior on its inducing cells."""

    schema: Schema
    layout: Layout
    vector: Tensor
    """Kernel parameters, as `kernel.unpack` reads them."""
    level: float
    """Median of the records' log-runtime beyond the trend."""
    trend: Trend
    noise: NoiseTable
    inducing: kernel.Side
    keys: tuple[str, ...]
    """Keys of the inducing cells' contexts, in the order of their rows."""
    weights: Tensor
    """Posterior mean is covariance with the inducing cells times this. Shape [M]."""
    root: Tensor
    """Posterior covariance is the prior's less the product of projections on this. Shape [M, r]."""


def side(cells: Cells) -> kernel.Side:
    """Cells as one side of a covariance matrix."""
    return kernel.Side(
        torch.from_numpy(cells.properties), torch.from_numpy(cells.rows), torch.from_numpy(cells.context_of)
    )


@dataclass(frozen=True)
class Targets:
    """What the process is conditioned on: each cell's log-runtime less the prior trend, and its noise."""

    values: Tensor
    noise: Tensor
    """Variance of the value, before the learned factor."""
    level: float


def targets(cells: Cells, trend: Trend, noise: NoiseTable) -> Targets:
    """Medians of the repeats, less the trend and the level."""
    runs = side(cells)
    assert runs.context_of is not None
    residual = cells.location - trend.of(runs.properties, runs.rows, runs.context_of).numpy()
    level = float(np.median(residual))
    variance = of_location(noise.at(cells.workers), cells.repeats)
    return Targets(torch.from_numpy(residual - level), torch.from_numpy(variance), level)


def learn(cells: Cells, schema: Schema, *, seed: int = 0, iterations: int = ITERATIONS) -> General:
    """Learn from all cells of an algorithm."""
    layout, noise = lay_out(schema), learn_noise(cells)
    sample = cells.only(draw_contexts(cells, LEARNED_FROM, seed))
    trend = learn_trend(sample, schema)
    vector = _maximise(sample, trend, layout, noise, iterations)
    kept = cells.only(draw_contexts(cells, POSTERIOR_FROM, seed))
    return condition_on(kept, Learned(schema, layout, trend, noise, vector))


def draw_contexts(cells: Cells, most: int, seed: int) -> list[int]:
    """Whole contexts, drawn at random, that have at most `most` cells together (at least one context)."""
    counts = np.bincount(cells.context_of, minlength=len(cells.keys))
    if counts.sum() <= most:
        return list(range(len(counts)))
    order = np.random.default_rng(seed).permutation(len(counts))
    within = np.cumsum(counts[order]) <= most
    return sorted(int(context) for context in order[: max(1, int(within.sum()))])


def same_context(a: Sequence[str], b: Sequence[str]) -> Tensor:
    """1 where two contexts, given by their keys, are one. Shape [Ca, Cb]."""
    numbers = {key: at for at, key in enumerate(dict.fromkeys([*a, *b]))}
    left, right = (np.array([numbers[key] for key in keys], dtype=np.int64) for keys in (a, b))
    return torch.from_numpy((left[:, None] == right[None, :]).astype(np.float64))


def total_covariance(p: kernel.Parameters, layout: Layout, cells: Cells, noise: Tensor) -> Tensor:
    """Covariance of the cells' measured medians. Shape [N, N]."""
    runs = side(cells)
    matrix = kernel.covariance(p, layout, runs, runs, same_context(cells.keys, cells.keys))
    return matrix + torch.diag(p["noise"] ** 2 * noise + _JITTER)


def _maximise(cells: Cells, trend: Trend, layout: Layout, noise: NoiseTable, iterations: int) -> Tensor:
    mean, spread = initial(layout, cells.rows)
    aim = targets(cells, trend, noise)
    mean_t, spread_t = torch.from_numpy(mean), torch.from_numpy(spread)

    def loss(vector: Array) -> tuple[float, Array]:
        t = torch.tensor(vector, requires_grad=True)
        matrix = total_covariance(kernel.unpack(t, layout), layout, cells, aim.noise)
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if bool(failed):
            return 1e12, np.zeros_like(vector)
        z = torch.linalg.solve_triangular(factor, aim.values[:, None], upper=False)
        prior = 0.5 * (((t - mean_t) / spread_t) ** 2).sum()
        value = 0.5 * (z**2).sum() + factor.diagonal().log().sum() + prior
        value.backward()
        assert t.grad is not None
        return value.item(), t.grad.numpy()

    bounds = [(m - 4 * s, m + 4 * s) for m, s in zip(mean, spread, strict=True)]
    found = minimize(loss, mean, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    return torch.from_numpy(np.asarray(found.x, dtype=np.float64))


@dataclass(frozen=True)
class Learned:
    """What is known before the posterior is."""

    schema: Schema
    layout: Layout
    trend: Trend
    noise: NoiseTable
    vector: Tensor


def condition_on(cells: Cells, known: Learned) -> General:
    """The posterior with these parameters, given these cells."""
    layout = known.layout
    with torch.no_grad():
        p = kernel.unpack(known.vector, layout)
        aim = targets(cells, known.trend, known.noise)
        runs = side(cells)
        chosen, contexts = _inducing(cells, p, layout, INDUCING)
        z = kernel.Side(
            runs.properties[contexts], runs.rows[chosen], _renumber(cells.context_of[chosen], contexts)
        )
        keys = tuple(cells.keys[at] for at in contexts)
        k_zn = kernel.covariance(p, layout, z, runs, same_context(keys, cells.keys))
        k_zz = k_zn[:, chosen]
        factor = torch.linalg.cholesky(k_zz + _JITTER * 10 * torch.eye(len(chosen), dtype=k_zz.dtype))
        half = torch.linalg.solve_triangular(factor, k_zn, upper=False)
        left = (kernel.variance(p, layout, runs) - (half**2).sum(0)).clamp_min(0.0)
        scaled = half / (left + p["noise"] ** 2 * aim.noise + _JITTER).sqrt()
        weighted = aim.values / (left + p["noise"] ** 2 * aim.noise + _JITTER).sqrt()
        values, vectors = torch.linalg.eigh(scaled @ scaled.T)
        values = values.clamp_min(0.0)
        projected = torch.linalg.solve_triangular(factor.T, vectors, upper=True)
        weights = projected @ ((vectors.T @ (scaled @ weighted)) / (1 + values))
        share = values / (1 + values)
        kept = share > 1e-9
        root = projected[:, kept] * share[kept].sqrt()
    return General(
        schema=known.schema,
        layout=layout,
        vector=known.vector,
        level=aim.level,
        trend=known.trend,
        noise=known.noise,
        inducing=z,
        keys=keys,
        weights=weights.contiguous(),
        root=root.contiguous(),
    )


def _renumber(context_of: NDArray[np.int64], contexts: list[int]) -> Tensor:
    place = {context: at for at, context in enumerate(contexts)}
    return torch.tensor([place[int(context)] for context in context_of], dtype=torch.int64)


def _inducing(cells: Cells, p: kernel.Parameters, layout: Layout, most: int) -> tuple[list[int], list[int]]:
    """Cells that stand for all (every one, if there are few), and the contexts they belong to."""
    chosen = list(range(len(cells))) if len(cells) <= most else _pivots(cells, p, layout, most)
    return chosen, sorted({int(context) for context in cells.context_of[chosen]})


def _pivots(cells: Cells, p: kernel.Parameters, layout: Layout, most: int) -> list[int]:
    """Pivoted incomplete Cholesky: again and again the cell that those chosen so far say least about."""
    runs = side(cells)
    left = kernel.variance(p, layout, runs).clone()
    basis = torch.zeros((most, len(cells)), dtype=left.dtype)
    chosen: list[int] = []
    for at in range(most):
        pivot = int(left.argmax())
        context = int(cells.context_of[pivot])
        one = kernel.Side(runs.properties[context : context + 1], runs.rows[pivot : pivot + 1])
        same = same_context(cells.keys[context : context + 1], cells.keys)
        row = kernel.covariance(p, layout, one, runs, same)[0]
        row = (row - basis[:at, pivot] @ basis[:at]) / left[pivot].clamp_min(1e-12).sqrt()
        basis[at] = row
        left = (left - row**2).clamp_min(0.0)
        left[pivot] = -1.0
        chosen.append(pivot)
    return sorted(chosen)
