"""Run the sample at each memory size and scale-out, some at once; what fails is left out, and the rest answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bellwren.errors import BellwrenError, Fault, SpecError
from bellwren.spec import JobSpec
from bellwren.tuning import fit
from bellwren.tuning.answer import Tuning
from bellwren.tuning.fit import Run
from bellwren.tuning.sample import Sample, sampled

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

SCALE_OUTS = (1, 2, 4)
_FURTHER = 4
"""Forecasts go at most to this times the largest scale-out that ran."""


class NothingRan(BellwrenError):
    """Too few of the runs succeeded to tell anything from them."""


def tune(
    cloud: Cloud,
    job: JobSpec,
    *,
    memory_mb: Sequence[int] = (),
    workers: Sequence[int] = SCALE_OUTS,
    sample: float | None = None,
    repeats: int = 2,
    at_once: int = 4,
    balance: float = 0.5,
) -> Tuning:
    """See ``Cloud.tune``."""
    sizes = list(memory_mb) or list(cloud.deployment.worker_functions)
    _check(cloud, sizes, workers)
    taken = sampled(job, cloud, sample)
    cells = list(itertools.product(sorted(set(sizes)), sorted(set(workers))))
    try:
        runs, failed = _measure(cloud, taken, cells, repeats, at_once)
    finally:
        if taken.written:
            cloud.data_store.delete(list(taken.written))
    scale_outs = _candidates(workers, cloud.deployment.max_workers, taken.share)
    return concluded(job, taken, runs, failed, balance=balance, scale_outs=scale_outs)


def _check(cloud: Cloud, sizes: Sequence[int], workers: Sequence[int]) -> None:
    """A job of another size would run at the nearest one, and be taken for what it was not."""
    deployed = list(cloud.deployment.worker_functions)
    faults = []
    if other := sorted(set(sizes) - set(deployed)):
        faults.append(
            Fault("memory_mb", str(other), f"sizes that are deployed: {', '.join(map(str, deployed))}")
        )
    if len(set(workers)) < 2 or min(workers) < 1:
        faults.append(Fault("workers", str(list(workers)), "two different numbers at least, from 1 on"))
    if faults:
        raise SpecError(faults)


def concluded(
    job: JobSpec,
    sample: Sample,
    runs: Sequence[Run],
    failed: list[dict[str, Any]],
    *,
    balance: float,
    scale_outs: Sequence[int],
) -> Tuning:
    """What the runs say of the whole job.

    Raises:
        NothingRan: if no memory size ran at two scale-outs; it says what failed and why.
    """
    kept = fit.usable(runs)
    try:
        curves = fit.fitted(kept, sample.share, scale_outs)
    except ValueError as error:
        reasons = "; ".join(f"{one['workers']} × {one['memory_mb']} MB: {one['error']}" for one in failed[:5])
        raise NothingRan(f"{error}{'. What failed: ' + reasons if failed else ''}") from error
    forecasts = fit.rows(curves, {run.workers for run in kept})
    chosen = fit.choices(curves, balance, job.deadline_s)
    return Tuning(
        algorithm=job.algorithm,
        sample=sample.share,
        measured=[
            {
                "workers": run.workers,
                "memory_mb": run.memory_mb,
                "runtime_s": run.runtime_s,
                "cost_usd": run.cost_usd,
                "disturbed": run.disturbed,
            }
            for run in runs
        ],
        failed=failed,
        forecasts=forecasts,
        choices={name: {**forecasts[place], "confidence": sure} for name, (place, sure) in chosen.items()},
        spent_usd=sum(run.cost_usd for run in runs) + sum(one["cost_usd"] or 0.0 for one in failed),
    )


def _measure(
    cloud: Cloud, sample: Sample, cells: Sequence[tuple[int, int]], repeats: int, at_once: int
) -> tuple[list[Run], list[dict[str, Any]]]:
    runs: list[Run] = []
    failed: dict[tuple[int, int], dict[str, Any]] = {}
    for _ in range(repeats):
        todo = [cell for cell in cells if cell not in failed]
        with ThreadPoolExecutor(at_once) as threads:
            for cell, outcome in zip(
                todo, threads.map(lambda cell: _run(cloud, sample, *cell), todo), strict=True
            ):
                if isinstance(outcome, dict):
                    failed[cell] = outcome
                else:
                    runs.append(outcome)
    return runs, list(failed.values())


def _run(cloud: Cloud, sample: Sample, memory_mb: int, workers: int) -> Run | dict[str, Any]:
    """The run, or why there is none."""
    lost: dict[str, Any] = {"workers": workers, "memory_mb": memory_mb, "cost_usd": None}
    try:
        job = cloud.submit({**sample.document, "workers": workers, "memory_mb": memory_mb}, progress=False)
    except BellwrenError as error:
        return {**lost, "error": str(error)}
    job.wait()
    status, record = job.status(), job.record
    if status["status"] != "SUCCEEDED" or record is None:
        told = status.get("error") or {"type": status["status"], "message": "there is no record of it"}
        return {**lost, "cost_usd": job.cost_usd, "error": f"{told['type']}: {told['message']}"[:300]}
    disturbed = bool(record["cold_starts"] or record["contended"])
    return Run(workers, memory_mb, record["runtime_s"], record["cost_usd"], disturbed)


def _candidates(measured: Sequence[int], most: int, share: float) -> list[int]:
    """What ran, and doublings of its largest while a worker has as much to do of the whole as one had of the sample."""
    largest = max(measured)
    bound = min(most, largest * min(_FURTHER, 1 / share))
    return sorted(
        {*measured, *itertools.takewhile(lambda count: count <= bound, (largest << n for n in range(1, 9)))}
    )
