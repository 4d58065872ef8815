"""One training on 100,000 records as long as real ones: its time and memory, in a process of its own as in Lambda.
Reading from S3 is apart: each record is made here when it is read.
"""

from __future__ import annotations

import json
import math
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bellwren.records.document import StageRecord
from bellwren.store import Entry
from benchmarks.report import Row
from tests.unit.learning.memory import Bucket, record

RECORDS = 100_000
CONTEXTS = 2_000
LIMIT_S = 900.0
LIMIT_MB = 3008.0


def run() -> list[Row]:
    """Measure in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.learning_size"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    what = f"{RECORDS:,} records of {CONTEXTS:,} contexts"
    return [
        Row("learning_size", f"{what}: sorting them", found["merge_s"], "s"),
        Row("learning_size", f"{what}: training on {found['learned_from']} of them", found["learn_s"], "s"),
        Row(
            "learning_size",
            f"{what}: in all",
            found["merge_s"] + found["learn_s"],
            "s",
            f"< {LIMIT_S:g}",
            found["merge_s"] + found["learn_s"] < LIMIT_S,
        ),
        Row(
            "learning_size",
            f"{what}: peak memory",
            found["peak_mb"],
            "MB",
            f"< {LIMIT_MB:g}",
            found["peak_mb"] < LIMIT_MB,
        ),
    ]


class Generated(Bucket):
    """Records that are made when they are read: no others are in memory than those that the training keeps there."""

    def list(self, prefix: str = "") -> Iterator[Entry]:
        for number in range(RECORDS):
            yield Entry(f"{prefix}2026/11/30/job-{number:06}.json", _SIZE, f'"{number}"')

    def find(self, key: str) -> bytes:
        return json.dumps(_document(int(key[-11:-5]))).encode()


def _document(number: int) -> dict[str, Any]:
    """As long as Finish writes them: two stages, what was expected, costs."""
    rng = random.Random(number)
    size, workers = 1e9 * (1 + number % CONTEXTS), 2 ** rng.randrange(7)
    runtime_s = (5 + size / 1e9 / workers) * math.exp(rng.gauss(0, 0.05))
    stages = [{name: rng.random() for name in StageRecord.__annotations__} for _ in range(2)]
    choice = {"workers": workers, "memory_mb": 1769, "runtime_s": runtime_s, "runtime_p95_s": 1.1 * runtime_s}
    more = {"stages": stages, "forecast": choice, "cost": {f"service {at}": rng.random() for at in range(5)}}
    began = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)).isoformat()
    what = {"job_id": f"job-{number:06}", "started_at": began, "bytes": size}
    return record(number, **what, workers=workers, runtime_s=runtime_s, **more)


_SIZE = 2500
"""Bytes, about."""


def main() -> None:
    """Train once, and print figures as JSON."""
    import torch

    from bellwren.learning.merging import merge
    from bellwren.learning.registry import Registry
    from bellwren.learning.training import Lesson
    from training.learn import learn

    torch.set_num_threads(1)
    began = time.perf_counter()
    merged = merge(Generated(), "grep")  # type: ignore[arg-type]
    merge_s = time.perf_counter() - began
    began = time.perf_counter()
    said = learn(Lesson("grep", merged.labels, Registry(Bucket("models"))))  # type: ignore[arg-type]
    learn_s = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "merge_s": merge_s,
                "learn_s": learn_s,
                "peak_mb": peak_mb,
                "learned_from": said["learned_from"],
                "family": said["family"],
            }
        )
    )


if __name__ == "__main__":
    main()
