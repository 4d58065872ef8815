"""What is said of a job that no model knows: an analytic prior from a small measured sample, or a stated default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction, lognormal

MB_PER_VCPU = 1769.0
"""Lambda gives one vCPU at 1,769 MB, and in proportion (AWS Lambda developer guide, "Configuring memory")."""
START_S = 4.0
"""Fixed cost of a job: the state machine's steps and the workers' first start."""
START_PER_WORKER_S = 0.01
PRIOR_DEVIATION = 0.35
"""Of log-runtime, when a small sample stands for the whole input: such forecasts are off by up to a factor of two."""
DEFAULT_DEVIATION = 1.0
DEFAULT_MB_PER_S = 20.0
DEFAULT_ITEM_S = 1.0
"""The stated default: an algorithm of which nothing is known reads 20 MB/s on one vCPU, or takes 1 s for an item."""
STRAGGLER = 0.1
"""Deviation of one task's time; the slowest of w workers lies sqrt(2 ln w) deviations out (extreme value theory)."""


@dataclass(frozen=True)
class Sample:
    """What running the algorithm on a small piece of the input took."""

    seconds: float
    """On one vCPU."""
    share: float
    """Of the whole input, above 0 and at most 1."""


@dataclass(frozen=True)
class Work:
    """What a job has to do."""

    bytes: float | None
    items: float | None
    tasks: int | None
    """Pieces the work can be split into; None: not known."""


def vcpus(memory_mb: Array) -> Array:
    """Share of a processor that a worker has. Its user code is one process for each vCPU, at least one."""
    return np.minimum(np.maximum(memory_mb, 128.0) / MB_PER_VCPU, 6.0)


def analytic(work: Work, choices: Choices, sample: Sample | None = None) -> Prediction:
    """Start + work / (workers x vCPUs) x imbalance x stragglers, with a wide band.

    The work is the sample's, scaled to the whole, or else the stated default by bytes or items, whichever is more. The
    imbalance is the last wave of tasks that does not fill the workers. Raises ValueError for a sample that measured
    nothing.
    """
    if sample is not None and not (sample.seconds > 0 and 0 < sample.share <= 1):
        raise ValueError(f"a sample of {sample.seconds} s for a share of {sample.share} says nothing")
    if sample is not None:
        total = sample.seconds / sample.share
    else:
        # Items have a size too, as they are sent to the workers; it says nothing of what a function does with them.
        total = max((work.bytes or 0.0) / (DEFAULT_MB_PER_S * 1e6), (work.items or 0.0) * DEFAULT_ITEM_S, 0.1)
    memory = np.where(np.isfinite(choices.memory_mb), choices.memory_mb, MB_PER_VCPU)
    workers = choices.workers
    busy = np.minimum(workers, work.tasks) if work.tasks else workers
    waves = np.ceil(work.tasks / busy) * busy / work.tasks if work.tasks else np.ones_like(workers)
    slowest = 1.0 + STRAGGLER * np.sqrt(2 * np.log(np.maximum(busy, 1.0)))
    runtime = START_S + START_PER_WORKER_S * workers + total / (busy * vcpus(memory)) * waves * slowest
    deviation = PRIOR_DEVIATION if sample is not None else DEFAULT_DEVIATION
    return lognormal(np.log(runtime), np.full_like(runtime, deviation))
