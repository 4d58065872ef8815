"""Run in the environment of Lithops: seconds of maps of trivial items on its localhost backend, warm, as JSON."""

from __future__ import annotations

import json
import sys
import time

from lithops import FunctionExecutor


def same(x: int) -> int:
    return x


def main(items: int, workers: int, runs: int) -> None:
    config = {
        "lithops": {
            "backend": "localhost",
            "storage": "localhost",
            "log_level": "ERROR",
            "telemetry": False,
        },
        "localhost": {"runtime": sys.executable, "worker_processes": workers},
    }
    seconds = []
    with FunctionExecutor(config=config) as executor:
        executor.get_result(executor.map(same, list(range(workers))))
        for _ in range(runs):
            began = time.perf_counter()
            found = executor.get_result(executor.map(same, list(range(items))))
            seconds.append(time.perf_counter() - began)
            assert found == list(range(items))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
