"""Run the sample at each memory size and scale-out, some at once; what fails is left out, and the rest answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
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
    from bellwren.job import Job

Cell = tuple[int, int]
"""Memory size in MB, and number of workers."""
Lost = dict[str, Any]
"""A cell of which there is no run: ``workers``, ``memory_mb``, ``cost_usd``, ``error``."""

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
    progress: Callable[[str], None] = lambda _: None,
) -> Tuning:
    """See ``Cloud.tune``."""
    sizes = list(memory_mb) or list(cloud.deployment.worker_functions)
    _check(cloud, sizes, workers)
    taken = sampled(job, cloud, sample)
    cells = list(itertools.product(sorted(set(sizes)), sorted(set(workers))))
    laboratory = _Laboratory(cloud, taken)
    try:
        runs, failed = laboratory.measure(cells, repeats, at_once, progress)
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
    failed: list[Lost],
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
    keeps = fit.keeping(forecasts, job.deadline_s, job.budget_usd)
    chosen = fit.choices(curves, balance, keeps)
    return Tuning(
        algorithm=job.algorithm,
        sample=sample.share,
        limits={"deadline_s": job.deadline_s, "budget_usd": job.budget_usd, "kept": any(keeps)},
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


class _Laboratory:
    """Runs the sample; when it is interrupted, whatever it has running is cancelled."""

    def __init__(self, cloud: Cloud, sample: Sample) -> None:
        self._cloud, self._sample = cloud, sample
        self._interrupted = threading.Event()
        self._jobs: list[Job] = []

    def measure(
        self, cells: Sequence[Cell], repeats: int, at_once: int, progress: Callable[[str], None]
    ) -> tuple[list[Run], list[Lost]]:
        """Run every cell ``repeats`` times, those that failed no further; runs, and cells that failed."""
        runs: list[Run] = []
        failed: dict[Cell, Lost] = {}
        with ThreadPoolExecutor(at_once) as threads:
            try:
                for number in range(1, repeats + 1):
                    todo = [cell for cell in cells if cell not in failed]
                    outcomes = threads.map(lambda cell: self._run(*cell), todo)
                    for done, (cell, outcome) in enumerate(zip(todo, outcomes, strict=True), 1):
                        if isinstance(outcome, Run):
                            runs.append(outcome)
                        else:
                            failed[cell] = outcome
                        progress(f"round {number} of {repeats}: {done} of {len(todo)} sizes have run")
            except BaseException:
                self._interrupted.set()
                threads.shutdown(wait=False, cancel_futures=True)
                for job in self._jobs:
                    job.cancel()
                raise
        return runs, list(failed.values())

    def _run(self, memory_mb: int, workers: int) -> Run | Lost:
        """The run, or why there is none."""
        lost: Lost = {"workers": workers, "memory_mb": memory_mb, "cost_usd": None}
        document = {**self._sample.document, "workers": workers, "memory_mb": memory_mb}
        try:
            job = self._cloud.submit(document, progress=False)
        except BellwrenError as error:
            return {**lost, "error": str(error)}
        self._jobs.append(job)
        if self._interrupted.is_set():
            job.cancel()
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
