"""What a worker's cold start imports: CPU seconds, and that nothing slow is among it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from benchmarks.report import Row, median_of

_RUNS = 7
_SLOW = ("boto3", "botocore", "numpy", "pydantic", "pandas")
_PROBE = """
import json, sys, time
began = time.process_time()
import functions.worker
print(json.dumps({"cpu_s": time.process_time() - began, "modules": sorted({m.partition(".")[0] for m in sys.modules})}))
"""


def run() -> list[Row]:
    """Import the worker's handler in fresh interpreters."""
    environment = {**os.environ, "BELLWREN_JOBS_BUCKET": "bucket"}
    seen = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _PROBE], env=environment, capture_output=True, check=True
            ).stdout
        )
        for _ in range(_RUNS)
    ]
    cpu_s, spread = median_of([one["cpu_s"] for one in seen])
    slow = [name for name in _SLOW if name in seen[0]["modules"]]
    return [
        Row("imports", "CPU of importing the map worker", cpu_s, "s", "≤ 0.25 s", cpu_s <= 0.25, spread),
        Row("imports", "of boto3, numpy, pydantic among it", len(slow), "modules", "0", not slow),
    ]
