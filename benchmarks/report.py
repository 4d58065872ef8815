"""What a benchmark says, and how all of them are written down."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One figure."""

    benchmark: str
    what: str
    value: float
    unit: str
    bar: str = ""
    """What was aimed at; empty where nothing was."""
    met: bool | None = None
    spread: str = ""
    """Smallest to largest of the runs."""


def timed(run: Callable[[], object]) -> float:
    """Seconds that ``run`` takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def median_of(seconds: Sequence[float]) -> tuple[float, str]:
    """The median, and the spread as text."""
    return statistics.median(seconds), f"{min(seconds):.3g} to {max(seconds):.3g}, {len(seconds)} runs"


def machine() -> dict[str, Any]:
    """Where and with what the figures were made."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "obstore": version("obstore"),
        "ministack": version("ministack"),
    }


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| benchmark | what | value | bar | met | spread |", "|---|---|---|---|---|---|"]
    for row in rows:
        met = {True: "yes", False: "no", None: ""}[row.met]
        value = f"{row.value:.4g} {row.unit}"
        lines.append(f"| {row.benchmark} | {row.what} | {value} | {row.bar} | {met} | {row.spread} |")
    return "\n".join(lines)


def write(rows: Sequence[Row], command: str) -> Path:
    """Write ``results/latest.{md,json}`` and return the Markdown file."""
    RESULTS.mkdir(exist_ok=True)
    about = machine()
    (RESULTS / "latest.json").write_text(
        json.dumps({"command": command, **about, "rows": [asdict(row) for row in rows]}, indent=1)
    )
    described = ", ".join(f"{name} {value}" for name, value in about.items())
    path = RESULTS / "latest.md"
    path.write_text(f"# Benchmarks\n\n`{command}`; {described}\n\n{table(rows)}\n")
    return path
