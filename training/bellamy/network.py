"""Bellamy's four networks, for a stack of M models at once.

Scheinert et al. 2021, section III, sizes as in the authors' released code: f (scale-out) 3-16-8, g (encoder) 40-8-4
without bias, h (decoder) 4-8-40 without bias, z (predictor) 32-8-1; SELU everywhere, on z's output too, Tanh at the
end of h, AlphaDropout within g and h. One model has 1,177 parameters; alone it would keep a processor busy with
dispatching, so every parameter has a leading dimension M and the models do not touch each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from bellwren.forecasting import bits

CODE = 4
GAIN = 0.75
LAYERS = {
    "f1": (3, 16, True),
    "f2": (16, 8, True),
    "g1": (bits.WIDTH, 8, False),
    "g2": (8, CODE, False),
    "h1": (CODE, 8, False),
    "h2": (8, bits.WIDTH, False),
    "z1": (8 + (len(bits.ESSENTIAL) + 1) * CODE, 8, True),
    "z2": (8, 1, True),
}
"""Inputs, outputs, and whether there is a bias."""


@dataclass(frozen=True)
class Inputs:
    """Runs for each of M models, all padded to B."""

    scale_out: Tensor
    """Scaled to [0, 1]. Shape [M, B, 3]."""
    essential: Tensor
    """Shape [M, B, 5, 40]."""
    optional: Tensor
    """Shape [M, B, 3, 40]."""
    known: Tensor
    """1 where an optional property is known. Shape [M, B, 3]."""


class Stack(nn.Module):
    """M Bellamy models."""

    def __init__(self, models: int, generator: torch.Generator) -> None:
        super().__init__()
        self.models = models
        for name, (inputs, outputs, bias) in LAYERS.items():
            deviation = GAIN / math.sqrt(inputs)
            weight = torch.randn((models, inputs, outputs), generator=generator) * deviation
            self.register_parameter(f"{name}_weight", nn.Parameter(weight))
            if bias:
                self.register_parameter(f"{name}_bias", nn.Parameter(torch.zeros((models, 1, outputs))))

    def layer(self, name: str, x: Tensor) -> Tensor:
        """One linear layer of every model. [M, K, in] to [M, K, out]."""
        out = torch.bmm(x, self.get_parameter(f"{name}_weight"))
        return out + self.get_parameter(f"{name}_bias") if LAYERS[name][2] else out

    def encode(self, vectors: Tensor, dropout: float = 0.0) -> Tensor:
        """g: property vectors [M, K, 40] to codes [M, K, 4]."""
        hidden = functional.selu(self.layer("g1", vectors))
        if dropout:
            hidden = functional.alpha_dropout(hidden, dropout, training=True)
        return functional.selu(self.layer("g2", hidden))

    def decode(self, codes: Tensor, dropout: float = 0.0) -> Tensor:
        """h: codes [M, K, 4] to property vectors [M, K, 40]."""
        hidden = functional.selu(self.layer("h1", codes))
        if dropout:
            hidden = functional.alpha_dropout(hidden, dropout, training=True)
        return torch.tanh(self.layer("h2", hidden))

    def context(self, essential: Tensor, optional: Tensor, known: Tensor) -> Tensor:
        """What z sees of the properties: codes [M, B, 5, 4] and [M, B, 3, 4] to [M, B, 24]; the codes of the optional
        properties are averaged over those known, zeros if none is."""
        count = known.sum(-1, keepdim=True).clamp_min(1.0)
        pooled = (optional * known[..., None]).sum(2) / count
        return torch.cat([essential.flatten(2), pooled], dim=-1)

    def predict(self, scale_out: Tensor, context: Tensor) -> Tensor:
        """f and z: [M, B, 3] and [M, B, 24] to seconds [M, B]."""
        curve = functional.selu(self.layer("f2", functional.selu(self.layer("f1", scale_out))))
        hidden = functional.selu(self.layer("z1", torch.cat([curve, context], dim=-1)))
        return functional.selu(self.layer("z2", hidden))[..., 0]

    def codes(self, inputs: Inputs, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
        """Codes of the essential [M, B, 5, 4] and of the optional [M, B, 3, 4] properties."""
        models, runs = inputs.scale_out.shape[:2]
        both = torch.cat(
            [inputs.essential.reshape(models, -1, bits.WIDTH), inputs.optional.flatten(1, 2)], dim=1
        )
        coded = self.encode(both, dropout)
        cut = runs * len(bits.ESSENTIAL)
        return coded[:, :cut].reshape(models, runs, -1, CODE), coded[:, cut:].reshape(models, runs, -1, CODE)

    def forward(self, inputs: Inputs) -> Tensor:
        """Runtimes in seconds. Shape [M, B]."""
        essential, optional = self.codes(inputs)
        return self.predict(inputs.scale_out, self.context(essential, optional, inputs.known))
