"""What a benchmark says, and how all of them are kept: the last run of each, with where and how it was made."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
_KEPT = "latest.json"
_BEGIN, _END = "<!-- benchmarks: written by python -m benchmarks -->", "<!-- end of benchmarks -->"


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
    contender: str = ""
    """Whose figure it is, where several systems were asked for the same ``what``."""


@dataclass(frozen=True)
class Run:
    """The last run of one benchmark."""

    benchmark: str
    command: str
    about: dict[str, Any]
    """Date, commit, machine, load and versions."""
    rows: list[Row] = field(default_factory=list)
    took_s: float | None = None
    """Of the whole benchmark, with its preparations."""


def timed(run: Callable[[], object]) -> float:
    """Seconds that ``run`` takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def median_of(seconds: Sequence[float]) -> tuple[float, str]:
    """The median, and the spread as text."""
    return statistics.median(seconds), f"{min(seconds):.3g} to {max(seconds):.3g}, {len(seconds)} runs"


def about() -> dict[str, Any]:
    """Where and with what figures are made now."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "obstore": version("obstore"),
        "ministack": version("ministack"),
    }


def _commit() -> str:
    """The commit that was measured; with a ``+`` if there were changes on top of it."""
    told = ["git", "describe", "--always", "--abbrev=7", "--dirty=+", "--exclude=*"]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def load(folder: Path = RESULTS) -> list[Run]:
    """The last run of every benchmark that was ever run."""
    path = folder / _KEPT
    if not path.exists():
        return []
    return [
        Run(**{**one, "rows": [Row(**row) for row in one["rows"]]})
        for one in json.loads(path.read_text("utf-8"))
    ]


def keep(new: Sequence[Run], folder: Path = RESULTS) -> Path:
    """Put runs in the place of earlier ones of the same benchmarks, write ``latest.{json,md}``; returns the latter.

    What was not run now stays, with its own date and commit.
    """
    known = {one.benchmark: one for one in load(folder)}
    known.update({one.benchmark: one for one in new})
    folder.mkdir(exist_ok=True)
    text = json.dumps([asdict(one) for one in known.values()], indent=1, ensure_ascii=False)
    (folder / _KEPT).write_text(text + "\n", "utf-8")
    path = folder / "latest.md"
    path.write_text(document(list(known.values())), "utf-8")
    return path


def document(runs: Sequence[Run]) -> str:
    """All figures as Markdown, benchmark by benchmark."""
    parts = ["# Benchmarks\n"]
    for run in runs:
        described = ", ".join(f"{name} {value}" for name, value in run.about.items())
        took = f"; took {run.took_s:.0f} s" if run.took_s else ""
        parts.append(f"## {run.benchmark}\n\n`{run.command}`; {described}{took}\n\n{table(run.rows)}\n")
    return "\n".join(parts)


def table(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table."""
    return _markdown(
        ("what", "value", "bar", "met", "spread"),
        [(_what(row), _value(row), row.bar, _met(row), row.spread) for row in rows],
    )


def summary(runs: Sequence[Run]) -> str:
    """The README's table: every figure for which there is a bar, whether it is met or not."""
    return _markdown(
        ("benchmark", "what", "measured", "bar", "met", "date, load"),
        [
            (
                run.benchmark.replace("_", " "),
                _what(row),
                _value(row),
                row.bar,
                _met(row),
                f"{run.about['date']}, {run.about['load']:.1f}",
            )
            for run in runs
            for row in run.rows
            if row.bar
        ],
    )


def plot(runs: Sequence[Run], folder: Path = RESULTS) -> list[Path]:
    """A picture for each benchmark that asked several contenders the same: bars by contender, a panel for each task."""
    from matplotlib.figure import Figure

    drawn = []
    for run in runs:
        tasks = {
            row.what: [one for one in run.rows if one.what == row.what] for row in run.rows if row.contender
        }
        if not tasks:
            continue
        figure = Figure(figsize=(8, 1 + 1.8 * len(tasks)), layout="constrained")
        figure.suptitle(
            f"{run.benchmark.replace('_', ' ')}, {run.about['date']}, load {run.about['load']:.1f}"
        )
        for axis, (what, rows) in zip(
            figure.subplots(len(tasks), squeeze=False)[:, 0], tasks.items(), strict=True
        ):
            ranked = sorted(rows, key=lambda row: -row.value)
            colours = ["C1" if row.contender == "Bellwren" else "C0" for row in ranked]
            bars = axis.barh([row.contender for row in ranked], [row.value for row in ranked], color=colours)
            axis.bar_label(bars, [_value(row) for row in ranked], padding=3)
            axis.set(title=what, xscale="log", xlabel=rows[0].unit)
            axis.margins(x=0.15)
        drawn.append(folder / f"{run.benchmark}.png")
        figure.savefig(drawn[-1], dpi=100)
    return drawn


def write_summary(path: Path = ROOT / "README.md", folder: Path = RESULTS) -> None:
    """Write the table into the README, between its two marks."""
    path.write_text(with_summary(path.read_text("utf-8"), load(folder)), "utf-8")


def with_summary(text: str, runs: Sequence[Run]) -> str:
    """The text with the table of ``runs`` between its two marks.

    Raises:
        ValueError: if the marks are not there.
    """
    before, begin, rest = text.partition(_BEGIN)
    _, end, behind = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"there must be a line {_BEGIN} and below it a line {_END}")
    return f"{before}{begin}\n\n{summary(runs)}\n\n{end}{behind}"


def _what(row: Row) -> str:
    return f"{row.what}: {row.contender}" if row.contender else row.what


def _value(row: Row) -> str:
    return f"{row.value:.3g} {row.unit}".strip()


def _met(row: Row) -> str:
    return {True: "yes", False: "no", None: ""}[row.met]


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
