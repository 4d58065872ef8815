"""Word count of 200 MB with 2 workers, beside two plain processes and PySpark local[2], all with one tokeniser.

Seconds of ours are from submit to the result in the client. Every contender is warm: the processes, the session and
the workers run already, and have done the job's like once.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bellwren import Cloud, Job, lines
from benchmarks import spark
from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed
from examples.generated_text import text

_OBJECTS = 4
_OBJECT_BYTES = 50_000_000
_RUNS = 3
_PREFIX = "bench/text-200/"
_FOLDER = Path(__file__).resolve().parent.parent / ".build" / "bench" / "text-200"
_WORDS = re.compile("[A-Za-z]+")
_WORKERS = {"workers": 2, "memory_mb": 1769, "progress": False}


def run() -> list[Row]:
    """Every contender in turn, ``_RUNS`` times, so that all see the same machine."""
    cloud = deployed()
    uri = _prepare(cloud)
    seconds: dict[str, list[float]] = {"plain": [], "ours": [], "own": [], "spark": []}
    jobs: dict[str, Any] = {}
    session = spark.start()
    peak_mb = 0
    with ProcessPoolExecutor(2) as pool:
        expected = _plain(pool)

        def ours(name: str, start: Callable[[Cloud, str], Any]) -> float:
            began = time.perf_counter()
            jobs[name], found = start(cloud, uri)
            took_s = time.perf_counter() - began
            assert found == expected
            return took_s

        for number in range(-1, _RUNS):  # the first is to warm up
            took = {
                "plain": timed(lambda: _plain(pool)),
                "ours": ours("ours", _builtin),
                "own": ours("own", _own_functions),
            }
            if session:
                found = session.run("wordcount", _FOLDER)
                assert (found["words"], found["distinct"]) == (expected.total(), len(expected))
                peak_mb = max(peak_mb, found["peak_mb"])
                took["spark"] = found["seconds"]
            print(
                number, {name: round(took_s, 2) for name, took_s in took.items()}, file=sys.stderr, flush=True
            )
            if number >= 0:
                for name, took_s in took.items():
                    seconds[name].append(took_s)
    if session:
        session.__exit__(None, None, None)
    return _rows(seconds, jobs["ours"].record, jobs["own"].record, peak_mb)


def _rows(seconds: dict[str, list[float]], ours: Any, own: Any, spark_mb: int) -> list[Row]:
    plain, ours_s, own_s = (median_of(seconds[name])[0] for name in ("plain", "ours", "own"))
    rows = [
        _row("two plain processes", seconds["plain"]),
        _row("built-in word count, 2 workers", seconds["ours"]),
        _row("functions of the user's, 2 workers", seconds["own"]),
        Row("wordcount_spark", "of two plain processes' rate", plain / ours_s, "times", "≥ 0.8", plain / ours_s >= 0.8),
        Row("wordcount_spark", "the same, functions of the user's", plain / own_s, "times"),
        Row("wordcount_spark", "peak of a worker, with one runner", max(s["peak_mb"] for s in ours["stages"]), "MB"),
        Row("wordcount_spark", "the same, functions of the user's", max(s["peak_mb"] for s in own["stages"]), "MB"),
        *(
            Row("wordcount_spark", f"requests of {stage['tasks']} {stage['name']} tasks: {kind}", count, "")
            for stage in ours["stages"]
            for kind, count in stage["requests"].items()
        ),
    ]  # fmt: skip
    if seconds["spark"]:
        theirs, _ = median_of(seconds["spark"])
        rows += [
            _row(f"{spark.PYSPARK}, local[2]", seconds["spark"]),
            Row("wordcount_spark", "faster than PySpark", theirs / ours_s, "times", "≥ 2.5", theirs / ours_s >= 2.5),
            Row("wordcount_spark", "the same, functions of the user's", theirs / own_s, "times"),
            Row("wordcount_spark", "peak of PySpark, all processes", spark_mb, "MB"),
        ]  # fmt: skip
    return [*rows, Row("wordcount_spark", "load of the machine at the end", os.getloadavg()[0], "")]


def _row(what: str, seconds: list[float]) -> Row:
    median, spread = median_of(seconds)
    return Row("wordcount_spark", f"200 MB, {what}", median, "s", spread=spread)


def _prepare(cloud: Cloud) -> str:
    """The same text in files and in objects."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    there = {entry.key for entry in cloud.data_store.list(_PREFIX)}
    for number in range(_OBJECTS):
        path = _FOLDER / f"{number}.txt"
        if not path.is_file():
            path.write_bytes(b"".join(text(_OBJECT_BYTES, seed=number)))
        if f"{_PREFIX}{number}.txt" not in there:
            cloud.data_store.put(f"{_PREFIX}{number}.txt", path.read_bytes())
    return f"s3://{cloud.deployment.data_bucket}/{_PREFIX}"


def _words(line: str) -> list[str]:
    """The tokeniser that all contenders use."""
    return _WORDS.findall(line.lower())


def _count_file(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    with path.open(encoding="ascii") as file:
        for line in file:
            found.update(_words(line))
    return found


def _plain(pool: ProcessPoolExecutor) -> Counter[str]:
    """What anyone would write."""
    return sum(pool.map(_count_file, sorted(_FOLDER.iterdir())), Counter())


def _builtin(cloud: Cloud, uri: str) -> tuple[Job, Any]:
    document = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "input": {"lines": uri},
        "workers": 2,
        "memory_mb": 1769,
    }
    job = cloud.submit(document, progress=False)
    return job, job.result()


def _own_functions(cloud: Cloud, uri: str) -> tuple[Job, Any]:
    words = re.compile("[A-Za-z]+")

    def pairs(line: str) -> list[tuple[str, int]]:
        return [(word, 1) for word in words.findall(line.lower())]

    def total(_: str, counts: Iterable[int]) -> int:
        return sum(counts)

    job = cloud.map_reduce(pairs, lines(uri), total, total, **_WORKERS)
    return job, job.result()
