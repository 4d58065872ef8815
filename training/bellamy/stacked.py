"""Adam for a stack of models, each with its own rate, and starting weights that a stack can take over."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class StackedAdam:
    """Adam (Kingma and Ba 2015) with L2 decay, one learning rate for each model of the stack.

    A rate of 0 leaves a model as it is: a model that has stopped, or a layer that is frozen for it.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        self.decay = decay
        self.first = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.second = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.steps = 0

    def step(self, rates: Sequence[Tensor]) -> None:
        """One step with `rates` [M] for each parameter; the gradients are taken and cleared."""
        self.steps += 1
        unbias_first, unbias_second = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        with torch.no_grad():
            for at, (parameter, rate) in enumerate(zip(self.parameters, rates, strict=True)):
                if parameter.grad is None:
                    continue
                gradient = parameter.grad + self.decay * parameter
                self.first[at].lerp_(gradient, 0.1)
                self.second[at].lerp_(gradient * gradient, 0.001)
                update = (self.first[at] / unbias_first) / ((self.second[at] / unbias_second).sqrt() + 1e-8)
                parameter.sub_(rate[:, None, None] * update)
                parameter.grad = None


class Best:
    """The best state that each model of a stack has been in."""

    def __init__(self, module: nn.Module, models: int) -> None:
        self.module = module
        self.loss = torch.full((models,), torch.inf)
        self.state = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}

    def offer(self, loss: Tensor) -> Tensor:
        """Keep the present state of those models whose loss [M] is the least so far; which those are."""
        better = loss < self.loss
        if bool(better.any()):
            self.loss = torch.where(better, loss, self.loss)
            for name, parameter in self.module.named_parameters():
                kept = torch.where(better[:, None, None], parameter.detach(), self.state[name])
                self.state[name] = kept
        return better

    def restore(self) -> None:
        """Put every model into its best state."""
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.copy_(self.state[name])
