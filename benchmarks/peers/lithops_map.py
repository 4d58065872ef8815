"""Run in the environment of Lithops: seconds of maps on its localhost backend, warm, as JSON."""

from __future__ import annotations

import json
import sys
import time

from lithops import FunctionExecutor
from work import FUNCTIONS


def main(what: str, items: int, workers: int, runs: int) -> None:
    config = {
        "lithops": {
            "backend": "localhost",
            "storage": "localhost",
            "log_level": "ERROR",
            "telemetry": False,
        },
        "localhost": {"runtime": sys.executable, "worker_processes": workers},
    }
    function = FUNCTIONS[what]
    expected = [function(x) for x in range(items)]
    seconds = []
    with FunctionExecutor(config=config) as executor:
        executor.get_result(executor.map(function, list(range(workers))))
        for _ in range(runs):
            began = time.perf_counter()
            found = executor.get_result(executor.map(function, list(range(items))))
            seconds.append(time.perf_counter() - began)
            assert found == expected
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
