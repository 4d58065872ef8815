"""The same two maps by everyone, in one run on one machine, warm, with two workers each.

One map does nothing to its items, so it shows what a call costs; the other computes. The pools of one machine are the
floor: they lose everything with their process, which is what the others pay for not doing.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from benchmarks import peers, spark
from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed

_LITHOPS = "lithops==3.8.0"
_JOBLIB = "joblib==1.5.2"
_WORKERS = 2
_MAPS = {"same": 100, "primes": 100}
_RUNS = 3
_LITHOPS_RUNS = 1
"""It takes half a second for an item, so more runs would take most of the benchmark's time."""


def run() -> list[Row]:
    """Each contender in turn: none runs while another is measured."""
    sys.path.insert(0, str(Path(peers.__file__).parent))  # as the scripts of the others import it
    functions = importlib.import_module("work").FUNCTIONS
    pools, lithops = peers.environment("joblib", _JOBLIB), peers.environment("lithops", _LITHOPS)
    session = spark.start()
    rows = []
    for what, items in _MAPS.items():
        expected = [functions[what](x) for x in range(items)]

        def ours(what: str = what, items: int = items, expected: list[int] = expected) -> None:
            found = deployed().map(
                functions[what], range(items), workers=_WORKERS, memory_mb=1769, progress=False
            )
            assert found.result() == expected

        ours()
        seconds = {"Bellwren": [timed(ours) for _ in range(_RUNS)]}
        told = [what, str(items), str(_WORKERS)]
        seconds |= json.loads(peers.run(pools, "pool_maps.py", *told, str(_RUNS)))
        seconds[_LITHOPS] = json.loads(peers.run(lithops, "lithops_map.py", *told, str(_LITHOPS_RUNS)))
        if session:
            answers = [session.run("map", Path(), what=what, items=str(items)) for _ in range(_RUNS + 1)]
            assert all(one["sum"] == sum(expected) for one in answers)
            seconds[f"{spark.PYSPARK}, local[2]"] = [one["seconds"] for one in answers[1:]]
        title = f"{items} items, {'nothing' if what == 'same' else 'prime numbers'}, {_WORKERS} workers"
        for contender, took_s in seconds.items():
            median, spread = median_of(took_s)
            rows.append(Row("map_peers", title, median, "s", spread=spread, contender=contender))
    if session:
        session.__exit__(None, None, None)
    return rows
