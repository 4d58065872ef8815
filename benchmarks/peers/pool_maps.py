"""Run in an environment of its own: seconds of maps by ``concurrent.futures`` and joblib, warm, as JSON by contender.

They are the floor: processes of one machine that share its memory, with nothing to survive.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import joblib
from work import FUNCTIONS


def main(what: str, items: int, workers: int, runs: int) -> None:
    function = FUNCTIONS[what]
    expected = [function(x) for x in range(items)]

    def measure(run: Callable[[], list[int]]) -> list[float]:
        seconds = []
        for _ in range(runs + 1):  # the first is to warm up
            began = time.perf_counter()
            assert run() == expected
            seconds.append(time.perf_counter() - began)
        return seconds[1:]

    with ProcessPoolExecutor(workers) as pool:
        found = {"concurrent.futures": measure(lambda: list(pool.map(function, range(items))))}
    with joblib.Parallel(n_jobs=workers) as parallel:
        found["joblib"] = measure(lambda: parallel(joblib.delayed(function)(x) for x in range(items)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
