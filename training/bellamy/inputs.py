"""Runs as the inputs of Bellamy's networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bellwren.forecasting import bits
from bellwren.forecasting.features import Array, Choices
from bellwren.records.execution import Execution, Kind, Value
from training.bellamy.network import Inputs
from training.cells import by_context


@dataclass(frozen=True)
class Encoded:
    """Runs, encoded but for the scaling of their scale-outs."""

    scale_out: Array
    """Shape [B, 3]."""
    essential: Array
    """Shape [B, 5, 40]."""
    optional: Array
    """Shape [B, 3, 40]."""
    known: Array
    """Shape [B, 3]."""
    runtimes_s: Array
    """Shape [B]; empty for candidates."""

    def __len__(self) -> int:
        return len(self.scale_out)


def encode_choices(
    algorithm: str, properties: Mapping[str, Value], kinds: Mapping[str, Kind], choices: Choices
) -> Encoded:
    """Candidates of one context."""
    block = bits.essential(properties, kinds)
    optional, known = bits.optional(algorithm, choices)
    return Encoded(
        bits.scale_out(choices.workers),
        np.repeat(block[None], len(choices), axis=0),
        optional,
        known,
        np.zeros(0),
    )


def encode_runs(runs: Sequence[Execution]) -> Encoded:
    """Runs of any contexts of one algorithm, gathered by context."""
    parts = [
        encode_choices(group[0].algorithm, group[0].properties, group[0].kinds, Choices.of(group))
        for group in by_context(runs).values()
    ]
    runtimes = [run.runtime_s for group in by_context(runs).values() for run in group]
    return Encoded(
        np.concatenate([part.scale_out for part in parts]),
        np.concatenate([part.essential for part in parts]),
        np.concatenate([part.optional for part in parts]),
        np.concatenate([part.known for part in parts]),
        np.array(runtimes),
    )


@dataclass(frozen=True)
class Scaling:
    """Min-max scaling of the scale-out features to [0, 1]."""

    low: Array
    high: Array

    @staticmethod
    def of(encoded: Encoded) -> Scaling:
        """The range of these runs."""
        return Scaling(encoded.scale_out.min(axis=0), encoded.scale_out.max(axis=0))

    def apply(self, scale_out: Array) -> Array:
        """Shape [B, 3]. With a single scale-out there is no range, and its features are 0."""
        width = self.high - self.low
        scaled: Array = (scale_out - self.low) / np.where(width > 0, width, 1.0)
        return scaled


def pad(parts: Sequence[Array], length: int) -> Tensor:
    """Arrays of various lengths as one float32 tensor [M, length, ...], padded with zeros."""
    out = np.zeros((len(parts), length, *parts[0].shape[1:]), dtype=np.float32)
    for at, part in enumerate(parts):
        out[at, : len(part)] = part
    return torch.from_numpy(out)


def stack_inputs(sets: Sequence[Encoded], scalings: Sequence[Scaling]) -> tuple[Inputs, Tensor, Tensor]:
    """Inputs of a stack, with runtimes [M, B] and weights [M, B] that are 1 for runs and 0 for padding."""
    length = max(len(encoded) for encoded in sets)
    inputs = Inputs(
        pad([s.apply(e.scale_out) for e, s in zip(sets, scalings, strict=True)], length),
        pad([e.essential for e in sets], length),
        pad([e.optional for e in sets], length),
        pad([e.known for e in sets], length),
    )
    weights = pad([np.ones(len(e)) for e in sets], length)
    runtimes = [e.runtimes_s if len(e.runtimes_s) else np.zeros(len(e)) for e in sets]
    return inputs, pad(runtimes, length), weights
