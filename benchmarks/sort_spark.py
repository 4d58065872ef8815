"""Sort of 256 MB of 100-byte records by their 10-byte keys with 2 workers, beside PySpark's sortByKey on local[2].

Seconds of ours are from submit to the end of the job, its output in storage; Spark's output is in files. Both are warm.
Beside them stands what storage alone takes for the bytes that a sort of two stages reads and writes: the local cloud
is a process on the same two cores, and no sort on it can be faster.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bellwren import Cloud
from benchmarks import spark
from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed

_OBJECTS = 8
_OBJECT_RECORDS = 320_000
_RUNS = 3
_PREFIX = "bench/records-256/"
_FOLDER = Path(__file__).resolve().parent.parent / ".build" / "bench" / "records-256"
_PARAMS = {"record_bytes": 100, "key_bytes": 10}


def run() -> list[Row]:
    """Both in turn, ``_RUNS`` times; then a job checks that the last output is sorted and whole."""
    cloud = deployed()
    uri = _prepare(cloud)
    ours: list[float] = []
    theirs: list[float] = []
    storage: list[float] = []
    peaks_mb = [0]
    session = spark.start()
    with tempfile.TemporaryDirectory() as folder:
        _sort(cloud, uri)
        if session:
            session.run("sort", _FOLDER, output=f"{folder}/warm")
        for number in range(_RUNS):
            jobs: list[Any] = []
            ours.append(timed(lambda jobs=jobs: jobs.append(_sort(cloud, uri))))
            storage.append(timed(lambda: _carry(cloud)))
            if session:
                found = session.run("sort", _FOLDER, output=f"{folder}/{number}")
                assert found["bytes"] == 100 * _OBJECTS * _OBJECT_RECORDS
                theirs.append(found["seconds"])
                peaks_mb.append(found["peak_mb"])
                shutil.rmtree(f"{folder}/{number}")
    if session:
        session.__exit__(None, None, None)
    _check(cloud, uri, jobs[0].status()["results_uri"])
    return _rows(ours, theirs, storage, jobs[0].record, max(peaks_mb))


def _carry(cloud: Cloud) -> None:
    """Read and write as many bytes as the sort does in its two stages, and sort nothing."""
    store = cloud.data_store

    def carry(number: int) -> None:
        store.put(f"bench/carried/{number}", store.get(f"{_PREFIX}{number:02d}"))
        store.put(f"bench/carried/{number}", store.get(f"bench/carried/{number}"))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(carry, range(_OBJECTS)))


def _rows(
    ours: list[float], theirs: list[float], storage: list[float], record: Any, spark_mb: int
) -> list[Row]:
    ours_s, spread = median_of(ours)
    storage_s, storage_spread = median_of(storage)
    peak_mb = max(stage["peak_mb"] for stage in record["stages"])
    sort, merge = record["stages"]
    rows = [
        Row("sort_spark", "256 MB of records, 2 workers", ours_s, "s", spread=spread),
        Row("sort_spark", "as many bytes read and written twice, no sort", storage_s, "s", spread=storage_spread),
        Row("sort_spark", "peak of a worker, with one runner", peak_mb, "MB", "< 300", peak_mb < 300),
        Row("sort_spark", "ranged reads that W runs and R partitions need: W·R", sort["tasks"] * merge["tasks"], ""),
        *(
            Row("sort_spark", f"requests of {stage['tasks']} {stage['name']} tasks: {kind}", count, "")
            for stage in (sort, merge)
            for kind, count in stage["requests"].items()
        ),
    ]  # fmt: skip
    if theirs:
        theirs_s, spread = median_of(theirs)
        ratio = theirs_s / ours_s
        rows += [
            Row("sort_spark", f"{spark.PYSPARK}, local[2], sortByKey", theirs_s, "s", spread=spread),
            Row("sort_spark", "faster than PySpark", ratio, "times", "≥ 3", ratio >= 3),
            Row("sort_spark", "peak of PySpark, all processes", spark_mb, "MB"),
        ]
    return [*rows, Row("sort_spark", "load of the machine at the end", os.getloadavg()[0], "")]


def _prepare(cloud: Cloud) -> str:
    """The same records in files and in objects; their keys are random."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    there = {entry.key for entry in cloud.data_store.list(_PREFIX)}
    for number in range(_OBJECTS):
        path = _FOLDER / f"{number:02d}"
        if not path.is_file():
            path.write_bytes(b"".join(os.urandom(10) + b"%090d" % at for at in range(_OBJECT_RECORDS)))
        if f"{_PREFIX}{number:02d}" not in there:
            cloud.data_store.put(f"{_PREFIX}{number:02d}", path.read_bytes())
    return f"s3://{cloud.deployment.data_bucket}/{_PREFIX}"


def _document(algorithm: str, uri: str) -> dict[str, Any]:
    return {
        "bellwren": 1,
        "algorithm": algorithm,
        "input": {"blocks": uri, "chunk": 100},
        "params": _PARAMS,
        "workers": 2,
        "memory_mb": 1769,
    }


def _sort(cloud: Cloud, uri: str) -> Any:
    output = f"s3://{cloud.deployment.data_bucket}/bench/sorted/{time.time_ns()}/"
    job = cloud.submit({**_document("sort", uri), "output": {"uri": output}}, progress=False)
    if error := job.exception():
        raise error
    return job


def _check(cloud: Cloud, uri: str, output: str) -> None:
    """The output is in order, and has the count and the checksum of the input."""
    before, after = (
        cloud.submit(_document("valsort", place), progress=False).result()["valsort"]
        for place in (uri, output)
    )
    assert after["sorted"], after
    assert [after[name] for name in ("records", "checksum")] == [
        before[name] for name in ("records", "checksum")
    ]
