"""Run in the environment of PySpark: jobs on local[2], one for each line of JSON on standard input, timed.

A session serves all of them, so only the first pays for its start. Answers are lines of JSON: ``seconds``, ``peak_mb``
(of the driver, the JVM and Python's workers together) and what the job found.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark import SparkConf, SparkContext
from work import FUNCTIONS

WORDS = re.compile("[A-Za-z]+")


def words(line: str) -> list[str]:
    """The tokeniser that all contenders use."""
    return WORDS.findall(line.lower())


def one(word: str) -> tuple[str, int]:
    return (word, 1)


def wordcount(context: SparkContext, folder: str, _: str) -> dict[str, Any]:
    counts = context.textFile(f"file://{folder}").flatMap(words).map(one).reduceByKey(add).collect()
    return {"words": sum(count for _, count in counts), "distinct": len(counts)}


def sort(context: SparkContext, folder: str, output: str) -> dict[str, Any]:
    os.makedirs(output)

    def write(number: int, part: Iterator[tuple[bytes, bytes]]) -> Iterator[int]:
        with Path(output, f"{number:05d}").open("wb") as file:
            for _, record in part:
                file.write(record)
            yield file.tell()

    keyed = context.binaryRecords(f"file://{folder}", 100).map(
        lambda record: (bytes(record[:10]), bytes(record))
    )
    return {"bytes": sum(keyed.sortByKey().mapPartitionsWithIndex(write).collect())}


def map_items(context: SparkContext, what: str, items: int) -> dict[str, Any]:
    found = context.parallelize(range(items), context.defaultParallelism).map(FUNCTIONS[what]).collect()
    return {"sum": sum(found)}


def peak_mb() -> int:
    """The most memory that this process and each below it have had, in sum."""
    parents, peaks = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
        except OSError:  # it has ended meanwhile
            continue
        parents[int(entry.name)] = int(fields["PPid"])
        peaks[int(entry.name)] = int(fields.get("VmHWM", "0 kB").split()[0]) >> 10
    ours = {os.getpid()}
    while further := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= further
    return sum(peaks[pid] for pid in ours)


def main() -> None:
    conf = SparkConf().setMaster("local[2]").set("spark.ui.enabled", "false")
    conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    context = SparkContext(conf=conf)
    context.setLogLevel("ERROR")
    context.addPyFile(str(Path(__file__).parent / "work.py"))
    jobs = {"wordcount": wordcount, "sort": sort}
    for line in sys.stdin:
        asked = json.loads(line)
        began = time.perf_counter()
        if asked["job"] == "map":
            found = map_items(context, asked["what"], int(asked["items"]))
        else:
            found = jobs[asked["job"]](context, asked["folder"], asked.get("output", ""))
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), **found}), flush=True)
    context.stop()


if __name__ == "__main__":
    main()
