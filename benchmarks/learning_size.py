"""One training on 100,000 records: its time and memory, in a process of its own as in Lambda. Reading from S3 is apart:
the records are in memory here, and a training reads 32 at once.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from benchmarks.report import Row

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


def main() -> None:
    """Train once, and print figures as JSON."""
    import numpy as np
    import torch

    from bellwren.learning.merging import merge
    from bellwren.learning.registry import Registry
    from bellwren.learning.training import Lesson
    from tests.unit.learning.memory import Bucket, put
    from training.learn import learn

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    records, models = Bucket("records"), Bucket("models")
    for number in range(RECORDS):
        size, workers = 1e9 * (1 + number % CONTEXTS), int(2 ** rng.integers(0, 7))
        runtime_s = (5 + size / 1e9 / workers) * float(np.exp(0.05 * rng.normal()))
        put(records, number, bytes=size, workers=workers, runtime_s=runtime_s)
    began = time.perf_counter()
    merged = merge(records, "grep")  # type: ignore[arg-type]
    merge_s = time.perf_counter() - began
    began = time.perf_counter()
    said = learn(Lesson("grep", merged.labels, Registry(models)))  # type: ignore[arg-type]
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
