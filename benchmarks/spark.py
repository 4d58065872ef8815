"""PySpark on local[2], in an environment of its own: what it takes for a job, in the same run as ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks import peers

PYSPARK = "pyspark==4.3.0"
_SCRIPT = Path(peers.__file__).parent / "spark_jobs.py"


class Spark:
    """A Spark session that runs jobs of ``peers/spark_jobs.py``, one after the other."""

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("BENCHMARK_LOG") else None,
            text=True,
        )

    def __enter__(self) -> Spark:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def run(self, job: str, folder: Path, **more: str) -> dict[str, Any]:
        """What the script answers for one job: ``seconds``, ``peak_mb``, and what the job found."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"job": job, "folder": str(folder), **more}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("Spark has ended; BENCHMARK_LOG=1 shows what it says")
        found: dict[str, Any] = json.loads(answer)
        return found


def start() -> Spark | None:
    """A session; None, and why on standard error, where PySpark can't be had."""
    if shutil.which("java") is None:
        print("not measured against PySpark: there is no java on this machine (17 or newer)", file=sys.stderr)
        return None
    try:
        return Spark(peers.environment("pyspark", PYSPARK))
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"not measured against PySpark: {PYSPARK} can't be installed: {error}", file=sys.stderr)
        return None
