"""Matrix products as a map against plain NumPy, per core; reading and writing S3 against plain obstore."""

from __future__ import annotations

import os
from statistics import median
from typing import Any

import bellwren
from benchmarks.cloud import deployed
from benchmarks.report import Row, timed

_SIZE = 1200
_ITEMS = 24
_RUNS = 3
_OBJECT_BYTES = 32_000_000
_OBJECTS = 6
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


def _multiplication() -> list[Row]:
    os.environ.update(_ONE_THREAD)  # before NumPy is first loaded here
    gflop = _ITEMS * 2 * _SIZE**3 / 1e9
    plain, ours = [], []
    for _ in range(_RUNS):
        plain.append(gflop / timed(lambda: [multiply(seed) for seed in range(_ITEMS)]))
        job = deployed().map(multiply, range(_ITEMS), workers=1, env=_ONE_THREAD, progress=False)
        assert len(job.result()) == _ITEMS
        ours.append(gflop / _stage(job)["wall_s"])
    share = median(ours) / median(plain)
    return [
        Row("compute", f"{_SIZE}² products, one plain process", median(plain), "GFLOPS"),
        Row("compute", f"{_SIZE}² products as a map, one worker, its start included", median(ours), "GFLOPS"),
        Row("compute", "share of plain NumPy", share, "times", f"≥ {_BAR}", share >= _BAR),
    ]


def _storage() -> list[Row]:
    cloud = deployed()
    store = cloud.data_store
    megabytes = _OBJECTS * _OBJECT_BYTES / 1e6
    body = os.urandom(_OBJECT_BYTES)

    def write() -> None:
        for number in range(_OBJECTS):
            store.put(f"{_PREFIX}{number}", body)

    def read() -> None:
        for number in range(_OBJECTS):
            assert len(store.get(f"{_PREFIX}{number}")) == _OBJECT_BYTES

    wrote, got = megabytes / timed(write), megabytes / timed(read)
    source = f"s3://{cloud.deployment.data_bucket}/{_PREFIX}"
    reading = cloud.map(lambda one: len(one[1]), bellwren.objects(source), workers=1, progress=False)
    assert reading.result() == [_OBJECT_BYTES] * _OBJECTS
    writing = cloud.map(lambda _: bytes(_OBJECT_BYTES), range(_OBJECTS), workers=1, progress=False)
    assert writing.wait()
    return [
        Row("storage", "read, plain obstore, one process", got, "MB/s"),
        Row("storage", "read by a map, one worker", megabytes / _stage(reading)["wall_s"], "MB/s"),
        Row("storage", "write, plain obstore, one process", wrote, "MB/s"),
        Row("storage", "write by a map, one worker", megabytes / _stage(writing)["wall_s"], "MB/s"),
    ]


def _stage(job: Any) -> dict[str, Any]:
    found: dict[str, Any] = job.record["stages"][0]
    return found
