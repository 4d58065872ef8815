"""How each family of models wants a context and its runs put into arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bellwren.forecasting import bits
from bellwren.forecasting.features import Array, Choices, Schema
from bellwren.records.execution import Kind, Value, context_key

Coding = Literal["magnitude", "bits", "workers"]
"""magnitude: `features.Schema` (ours). bits: Bellamy's property vectors. workers: the scale-out alone (curves)."""


@dataclass(frozen=True)
class Encoder:
    """Puts contexts and runs into a model's inputs, all float64."""

    coding: Coding
    schema: Schema
    algorithm: str
    kinds: Mapping[str, Kind]

    def properties(self, properties: Mapping[str, Value]) -> Array:
        """The context's block. Shape [1, P]."""
        if self.coding == "magnitude":
            return self.schema.properties(properties)[None, :]
        if self.coding == "bits":
            return bits.essential(properties, self.kinds).reshape(1, -1)
        return np.zeros((1, 1))

    def rows(self, properties: Mapping[str, Value], choices: Choices) -> Array:
        """One row for each run. Shape [B, R]."""
        if self.coding == "magnitude":
            return self.schema.rows(properties, choices)
        if self.coding == "bits":
            codes, known = bits.optional(self.algorithm, choices)
            flat = codes.reshape(len(choices), codes.shape[1] * codes.shape[2])
            return np.concatenate([bits.scale_out(choices.workers), flat, known], axis=1)
        return choices.workers[:, None].copy()

    def number(self, properties: Mapping[str, Value]) -> int:
        """The context's number among those of training, -1 if it is new."""
        key = context_key(properties)
        return self.schema.contexts.index(key) if key in self.schema.contexts else -1
