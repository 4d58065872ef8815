"""Fine-tuning to one context, many contexts side by side.

Scheinert et al. 2021, section III-D and the released code: SmoothL1 on runtime only, no dropout, g and h frozen; the
rate warms up from .001 to .01 over 10 epochs, then follows a cosine between the two with a cycle of 40; at most 2500
epochs; a model stops at a training error of 5 s or after 1000 epochs without gain, and goes back to its best state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from bellwren.records.execution import Execution
from training.bellamy.inputs import Scaling, encode_runs, stack_inputs
from training.bellamy.network import Stack
from training.bellamy.pretrain import Pretrained
from training.bellamy.stacked import Best, StackedAdam

Strategy = Literal["local", "partial-unfreeze", "full-unfreeze", "partial-reset", "full-reset"]
STRATEGIES: tuple[Strategy, ...] = (
    "local",
    "partial-unfreeze",
    "full-unfreeze",
    "partial-reset",
    "full-reset",
)
"""local: f and z from scratch on the context alone, g and h random. partial-unfreeze: z, and later f.
full-unfreeze: z and f at once. partial-reset: z drawn anew, and later f. full-reset: z and f drawn anew."""
EPOCHS = 2500
PATIENCE = 1000
GOOD_ENOUGH_S = 5.0
_LOW, _HIGH, _WARM_UP, _CYCLE = 0.001, 0.01, 10, 40
_F, _Z = ("f1", "f2"), ("z1", "z2")


@dataclass(frozen=True)
class Tuned:
    """One fine-tuned model of a stack."""

    stack: Stack
    at: int
    scaling: Scaling


def rate_at(epoch: int) -> float:
    """The learning rate of an epoch."""
    if epoch < _WARM_UP:
        return _LOW + (_HIGH - _LOW) * epoch / _WARM_UP
    phase = 2 * math.pi * ((epoch - _WARM_UP) % _CYCLE) / _CYCLE
    return _LOW + (_HIGH - _LOW) * 0.5 * (1 + math.cos(phase))


def unfreezes_at(runs: int, strategy: Strategy) -> float:
    """The epoch from which f is trained too."""
    if strategy in {"local", "full-unfreeze", "full-reset"}:
        return 0
    return int(7.5 * 2**runs) if runs > 1 else math.inf


def finetune(
    models: Sequence[Pretrained | None],
    runs: Sequence[Sequence[Execution]],
    strategy: Strategy,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
) -> list[Tuned]:
    """Fine-tune one model for each context (None: no pre-trained model, for the local strategy), side by side."""
    sets = [encode_runs(group) for group in runs]
    scalings = [
        Scaling.of(encoded) if model is None or strategy == "local" else model.scaling
        for model, encoded in zip(models, sets, strict=True)
    ]
    stack = _start(models, strategy, seed)
    inputs, runtimes, weights = stack_inputs(sets, scalings)
    with torch.no_grad():
        essential, optional = stack.codes(inputs)
        context = stack.context(essential, optional, inputs.known)
    opens = torch.tensor([unfreezes_at(len(group), strategy) for group in runs])
    _train(stack, (inputs.scale_out, context, runtimes, weights), opens, epochs)
    return [Tuned(stack, at, scaling) for at, scaling in enumerate(scalings)]


def _start(models: Sequence[Pretrained | None], strategy: Strategy, seed: int) -> Stack:
    """A stack with the weights that each model starts from."""
    stack = Stack(len(models), torch.Generator().manual_seed(seed))
    fresh = {"partial-reset": _Z, "full-reset": _F + _Z}.get(strategy, ())
    if strategy == "local":
        return stack
    with torch.no_grad():
        for name, parameter in stack.named_parameters():
            if name.split("_")[0] in fresh:
                continue
            for at, model in enumerate(models):
                assert model is not None, f"{strategy} needs a pre-trained model"
                parameter[at] = model.stack.get_parameter(name)[model.at]
    return stack


def _train(stack: Stack, data: tuple[Tensor, Tensor, Tensor, Tensor], opens: Tensor, epochs: int) -> None:
    scale_out, context, runtimes, weights = data
    names = [name for name, _ in stack.named_parameters() if name.split("_")[0] in _F + _Z]
    parameters = [stack.get_parameter(name) for name in names]
    for name, parameter in stack.named_parameters():
        parameter.requires_grad_(name in names)
    adam, best = StackedAdam(parameters), Best(stack, stack.models)
    total, idle = weights.sum(1), torch.zeros(stack.models)
    stopped = torch.zeros(stack.models, dtype=torch.bool)
    for epoch in range(epochs):
        predicted = stack.predict(scale_out, context)
        error = ((predicted.detach() - runtimes).abs() * weights).sum(1) / total
        better = best.offer(torch.where(stopped, torch.full_like(error, torch.inf), error))
        idle = torch.where(better, torch.zeros_like(idle), idle + 1)
        stopped = stopped | (best.loss <= GOOD_ENOUGH_S) | (idle >= PATIENCE)
        if bool(stopped.all()):
            break
        loss = (functional.smooth_l1_loss(predicted, runtimes, reduction="none") * weights).sum(1) / total
        loss.sum().backward()  # type: ignore[no-untyped-call]
        rate = torch.where(stopped, 0.0, rate_at(epoch))
        late = torch.where(epoch >= opens, rate, torch.zeros_like(rate))
        adam.step([late if name.split("_")[0] in _F else rate for name in names])
    best.restore()
