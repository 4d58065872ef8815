"""Matrix products as a map against plain NumPy, per core; reading and writing S3 against plain obstore.

Beside them stands what Jonas et al. 2017 ("Occupy the Cloud") measured of a worker on AWS: another machine, another S3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from typing import Any

import bellwren
from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed

_SIZE = 2000
_ITEMS = 40
_RUNS = 3
_OBJECT_BYTES = 32_000_000
_OBJECTS = 12
_PREFIX = "bench/storage/"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_BAR = 0.9


def run() -> list[Row]:
    """One worker, so that each side has a core of its own."""
    return _multiplication() + _storage()


def multiply(seed: int) -> float:
    """The trace of a product of two random matrices."""
    import numpy as np  # on the worker

    dice = np.random.default_rng(seed)
    return float(np.trace(dice.random((_SIZE, _SIZE)) @ dice.random((_SIZE, _SIZE))))


def plain() -> None:
    """Print how many seconds the products take in this process, the import of NumPy apart."""
    multiply(0)
    print(timed(lambda: [multiply(seed) for seed in range(_ITEMS)]))


def _multiplication() -> list[Row]:
    gflop = _ITEMS * 2 * _SIZE**3 / 1e9
    theirs, whole, apart = [], [], []
    for _ in range(_RUNS):
        # In a process of its own: what the BLAS does in this one may be settled already.
        command = [sys.executable, "-c", "from benchmarks.compute import plain; plain()"]
        told = subprocess.run(
            command, env={**os.environ, **_ONE_THREAD}, check=True, capture_output=True, text=True
        )
        theirs.append(gflop / float(told.stdout))
        job = deployed().map(multiply, range(_ITEMS), workers=1, env=_ONE_THREAD, progress=False)
        assert len(job.result()) == _ITEMS
        stage = _stage(job)
        whole.append(gflop / stage["wall_s"])
        apart.append(gflop / stage["compute_s"])
    share = median(whole) / median(theirs)
    return [
        _row(f"{_SIZE}² products, one plain process, one thread", theirs),
        _row("as a map, one worker, on its runner", apart),
        _row("as a map, one worker, its start included", whole),
        Row(
            "compute",
            "Jonas et al. 2017, on AWS: a core of a worker",
            16.5,
            "GFLOPS",
            spread="16 to 17, the peak in their figure",
        ),
        Row(
            "compute", "share of plain NumPy, the start included", share, "times", f"≥ {_BAR}", share >= _BAR
        ),
    ]


def _row(what: str, rates: list[float]) -> Row:
    return Row("compute", what, *_median(rates, "GFLOPS"))


def _storage() -> list[Row]:
    cloud = deployed()
    store = cloud.data_store
    megabytes = _OBJECTS * _OBJECT_BYTES / 1e6
    body = os.urandom(_OBJECT_BYTES)
    source = f"s3://{cloud.deployment.data_bucket}/{_PREFIX}"

    def write() -> None:
        for number in range(_OBJECTS):
            store.put(f"{_PREFIX}{number}", body)

    def read() -> None:
        for number in range(_OBJECTS):
            assert len(store.get(f"{_PREFIX}{number}")) == _OBJECT_BYTES

    def read_by_a_map() -> float:
        job = cloud.map(lambda one: len(one[1]), bellwren.objects(source), workers=1, progress=False)
        assert job.result() == [_OBJECT_BYTES] * _OBJECTS
        return float(_stage(job)["wall_s"])

    def write_by_a_map() -> float:
        job = cloud.map(lambda _: bytes(_OBJECT_BYTES), range(_OBJECTS), workers=1, progress=False)
        assert job.wait()
        return float(_stage(job)["wall_s"])

    rates: dict[str, list[float]] = {}
    for _ in range(_RUNS):
        for what, seconds in (
            ("write, plain obstore, one process", timed(write)),
            ("read, plain obstore, one process", timed(read)),
            ("write by a map, one worker, its start included", write_by_a_map()),
            ("read by a map, one worker, its start included", read_by_a_map()),
        ):
            rates.setdefault(what, []).append(megabytes / seconds)
    paper = [
        Row("storage", f"Jonas et al. 2017, on AWS: {what} by a worker", rate, "MB/s", spread="about")
        for what, rate in (("write", 30), ("read", 40))
    ]
    return [Row("storage", what, *_median(found, "MB/s")) for what, found in rates.items()] + paper


def _median(rates: list[float], unit: str) -> tuple[float, str, str, None, str]:
    """Value, unit and spread as ``Row`` takes them; there is no bar."""
    value, spread = median_of(rates)
    return value, unit, "", None, spread


def _stage(job: Any) -> dict[str, Any]:
    found: dict[str, Any] = job.record["stages"][0]
    return found
