"""Pre-training on all contexts of an algorithm but the target.

Loss = SmoothL1(runtime) + MSE(reconstruction of essential) + MSE(of optional), unweighted; N(0, 0.25) noise on the
target; Adam, batches of 64, rates searched for on a random tenth of the runs (Scheinert et al. 2021, section IV-B, and
the authors' released code). That tenth shares its contexts with the rest, which flatters; it is kept because this is
their method. Two deviations. For time, 800 epochs at rates {0.1, 0.01}, dropout 0.05 and decay 1e-3 replace 2500
epochs on the full grid (`PAPER` has their length). And the best rate and epoch are those of the least relative error:
of errors in seconds, a few runs that take hours are nearly the whole, and the others are left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bellwren.records.execution import Execution
from training.bellamy.inputs import Scaling, encode_runs, pad, stack_inputs
from training.bellamy.network import Inputs, Stack
from training.bellamy.stacked import Best, StackedAdam

_T = TypeVar("_T")

BATCH = 64
NOISE_S = 0.25
_CHECK_EVERY = 10


@dataclass(frozen=True)
class Pretraining:
    """How long and with which rates."""

    epochs: int = 800
    rates: tuple[float, ...] = (0.1, 0.01)
    dropout: float = 0.05
    decay: float = 1e-3
    held_out: float = 0.1
    """Share of runs on which the rate and the epoch are chosen."""


PAPER = Pretraining(epochs=2500, rates=(0.1, 0.01, 0.001))
"""As long as in the paper."""


@dataclass(frozen=True)
class Table:
    """Inputs of a stack with every distinct property vector once: runs share most of theirs, and encoding each vector
    once a step instead of once a run is a tenth of the work. (Equal vectors of a batch share a dropout mask, too.)"""

    scale_out: Tensor
    """Shape [M, B, 3]."""
    vectors: Tensor
    """Shape [M, U, 40]."""
    essential_at: Tensor
    """Which vector is each essential property. Shape [M, B, 5]."""
    optional_at: Tensor
    """Shape [M, B, 3]."""
    known: Tensor
    """Shape [M, B, 3]."""


@dataclass(frozen=True)
class Data:
    """What a stack is trained and checked on."""

    table: Table
    runtimes: Tensor
    """Shape [M, B]."""
    weights: Tensor
    """1 for runs, 0 for padding. Shape [M, B]."""
    check: tuple[Inputs, Tensor, Tensor]
    """Inputs, runtimes and weights of the runs held out."""


def tabulate(inputs: Inputs) -> Table:
    """Find the distinct property vectors of each model's runs."""
    tables, places = [], []
    for essential, optional in zip(inputs.essential.numpy(), inputs.optional.numpy(), strict=True):
        both = np.concatenate([essential, optional], axis=1)
        distinct, at = np.unique(both.reshape(-1, both.shape[-1]), axis=0, return_inverse=True)
        tables.append(distinct)
        places.append(at.reshape(both.shape[:2]))
    where = torch.from_numpy(np.stack(places).astype(np.int64))
    vectors = pad(tables, max(len(table) for table in tables))
    return Table(inputs.scale_out, vectors, where[..., :5], where[..., 5:], inputs.known)


@dataclass(frozen=True)
class Pretrained:
    """One model of a stack."""

    stack: Stack
    at: int
    """Its place in the stack."""
    scaling: Scaling
    deviation: float
    """Relative deviation of the runs held out (of all, where none was)."""


def pretrain(sets: Sequence[Sequence[Execution]], settings: Pretraining, seed: int) -> list[Pretrained]:
    """Pre-train one model for each set of runs, all side by side, with every rate; keep each set's best."""
    copies = len(settings.rates)
    split = [_hold_out(runs, settings.held_out, seed) for runs in sets]
    fitted, checked = [encode_runs(a) for a, _ in split], [encode_runs(b) for _, b in split]
    scalings = [Scaling.of(encoded) for encoded in fitted]
    generator = torch.Generator().manual_seed(seed)
    stack = Stack(len(sets) * copies, generator)
    train, runtimes, weights = stack_inputs(_repeat(fitted, copies), _repeat(scalings, copies))
    check = stack_inputs(_repeat(checked, copies), _repeat(scalings, copies))
    rates = torch.tensor([rate for _ in sets for rate in settings.rates])
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of the dropout, which takes no generator
        best = _train(stack, Data(tabulate(train), runtimes, weights, check), rates, settings, generator)
    out = []
    for at in range(len(sets)):
        losses = best.loss[at * copies : (at + 1) * copies]
        place = at * copies + int(losses.argmin())
        deviation = _deviation(stack, check, place)
        out.append(Pretrained(stack, place, scalings[at], deviation))
    return out


def _repeat(items: Sequence[_T], copies: int) -> list[_T]:
    return [item for item in items for _ in range(copies)]


def _hold_out(runs: Sequence[Execution], share: float, seed: int) -> tuple[list[Execution], list[Execution]]:
    """Runs to learn from and to check on, at random; with fewer than twenty, all are both."""
    if len(runs) < 20:
        return list(runs), list(runs)
    order = np.random.default_rng(seed).permutation(len(runs))
    count = max(1, round(share * len(runs)))
    return [runs[at] for at in order[count:]], [runs[at] for at in order[:count]]


def _train(
    stack: Stack, data: Data, rates: Tensor, settings: Pretraining, generator: torch.Generator
) -> Best:
    parameters = list(stack.parameters())
    adam, best = StackedAdam(parameters, settings.decay), Best(stack, stack.models)
    length = data.runtimes.shape[1]
    for epoch in range(settings.epochs):
        order = torch.rand((stack.models, length), generator=generator).argsort(dim=1)
        for start in range(0, length, BATCH):
            batch = order[:, start : start + BATCH]
            loss = _loss(stack, data, batch, settings)
            loss.sum().backward()  # type: ignore[no-untyped-call]
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
            adam.step([rates] * len(parameters))
        if epoch % _CHECK_EVERY == _CHECK_EVERY - 1 or epoch == settings.epochs - 1:
            best.offer(_mean_relative(stack, data.check))
    best.restore()
    return best


def _loss(stack: Stack, data: Data, batch: Tensor, settings: Pretraining) -> Tensor:
    """Of each model, on one batch of its runs. Shape [M]."""
    rows = torch.arange(batch.shape[0])[:, None]
    table = data.table
    runtimes, weights = data.runtimes[rows, batch], data.weights[rows, batch]
    known, essential_at, optional_at = (
        part[rows, batch] for part in (table.known, table.essential_at, table.optional_at)
    )
    codes = stack.encode(table.vectors, settings.dropout)
    context = stack.context(_pick(codes, essential_at), _pick(codes, optional_at), known)
    predicted = stack.predict(table.scale_out[rows, batch], context)
    noisy = runtimes + NOISE_S * torch.randn_like(runtimes)
    total = weights.sum(1).clamp_min(1.0)
    runtime = (functional.smooth_l1_loss(predicted, noisy, reduction="none") * weights).sum(1) / total
    squares = ((stack.decode(codes, settings.dropout) - table.vectors) ** 2).mean(-1)
    first = _weighted(squares, essential_at, weights[..., None].expand_as(essential_at))
    second = _weighted(squares, optional_at, weights[..., None] * known)
    total_loss: Tensor = runtime + first + second
    return total_loss


def _pick(codes: Tensor, at: Tensor) -> Tensor:
    """Codes [M, U, 4] of the vectors at [M, B, k]. Shape [M, B, k, 4]."""
    flat = at.flatten(1)[..., None].expand(-1, -1, codes.shape[-1])
    return codes.gather(1, flat).reshape(*at.shape, codes.shape[-1])


def _weighted(squares: Tensor, at: Tensor, weights: Tensor) -> Tensor:
    """Mean reconstruction error of the vectors in a batch, each as often as it stands there. Shape [M]."""
    counts = torch.zeros_like(squares).scatter_add_(1, at.flatten(1), weights.flatten(1))
    return (squares * counts).sum(1) / counts.sum(1).clamp_min(1.0)


def _mean_relative(stack: Stack, check: tuple[Inputs, Tensor, Tensor]) -> Tensor:
    inputs, runtimes, weights = check
    with torch.no_grad():
        relative = (stack(inputs) - runtimes).abs() / runtimes.clamp_min(1e-3)
        error = (relative * weights).sum(1) / weights.sum(1).clamp_min(1.0)
    finite: Tensor = error.nan_to_num(torch.inf)
    return finite


def _deviation(stack: Stack, check: tuple[Inputs, Tensor, Tensor], place: int) -> float:
    inputs, runtimes, weights = check
    with torch.no_grad():
        kept = weights[place] > 0
        ratio = stack(inputs)[place][kept].clamp_min(1e-3) / runtimes[place][kept]
    return max(0.02, float(ratio.log().square().mean().sqrt()))
