"""What every candidate of a job costs, in one go: `bellwren.cost.estimate` for arrays."""

from __future__ import annotations

from functools import cache

import numpy as np

from bellwren import cost
from bellwren.forecasting.features import Array


def cost_of_many(workers: Array, memory_mb: Array, runtime_s: Array) -> Array:
    """Forecast costs in USD, each as `bellwren.cost.estimate` says. Shapes [B].

    All but the workers' seconds is a fixed sum and one for each worker, so two estimates without a runtime tell it.
    """
    fixed_usd, worker_usd, gb_s_usd = _rates()
    gb_s = memory_mb / 1024 * np.ceil(runtime_s * 1000) / 1000
    total: Array = fixed_usd + workers * (worker_usd + gb_s * gb_s_usd)
    return total


@cache
def _rates() -> tuple[float, float, float]:
    """USD of a job, of each of its workers beside its seconds, and of a GB-second."""
    fixed_usd = cost.estimate(0, 1024, 0.0)
    worker_usd = cost.estimate(1, 1024, 0.0) - fixed_usd
    return fixed_usd, worker_usd, cost.estimate(1, 1024, 1.0) - worker_usd - fixed_usd
