"""Execution records of a made-up algorithm whose truth is known: work, a fixed cost, a memory cliff, noise."""

from __future__ import annotations

import numpy as np

from bellwren.records.execution import Execution

SCALE_OUTS = (2.0, 4.0, 8.0, 16.0)
NOISE = 0.02


def truth(size: float, workers: float, rounds: float, memory_mb: float = 4000.0) -> float:
    """Seconds: a fixed cost, parallel work, and three times the work once the data no longer fits the memory."""
    fit = size / (workers * memory_mb * 1e6)
    return 5.0 + (size / 1e9) * (4.0 + rounds) / workers * (3.0 if fit > 0.5 else 1.0)


def runs(
    sizes: tuple[float, ...] = (2e9, 4e9, 8e9, 16e9),
    rounds: tuple[float, ...] = (1.0, 5.0, 20.0),
    repeats: int = 3,
    seed: int = 0,
    scale_outs: tuple[float, ...] = SCALE_OUTS,
) -> list[Execution]:
    """Repeats of every size, parameter and scale-out."""
    rng = np.random.default_rng(seed)
    return [
        Execution(
            "made-up",
            workers,
            float(truth(size, workers, count) * np.exp(NOISE * rng.normal())),
            {"bytes": size, "rounds": count, "memory_mb": 4000.0, "dataset": "logs"},
            {"rounds": "parameter"},
        )
        for size in sizes
        for count in rounds
        for workers in scale_outs
        for _ in range(repeats)
    ]
