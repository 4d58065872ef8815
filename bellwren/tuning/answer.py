"""What tuning found, as its user sees it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bellwren.errors import BellwrenError

_HEAD = ("workers", "memory", "runtime", "95 % of runs", "cost", "95 % of runs", "")


class Tuning(dict[str, Any]):
    """Plain data with ways to look at it.

    Its keys are ``algorithm``; ``sample`` (share of the input); ``limits`` (``deadline_s`` and ``budget_usd`` of the
    document, and ``kept``: whether any size keeps them); ``measured`` (runs on the sample: ``workers``,
    ``memory_mb``, ``runtime_s``, ``cost_usd``, ``disturbed``); ``failed`` (``workers``, ``memory_mb``, ``error``);
    ``forecasts`` of the whole job; ``choices`` (``cost``, ``time``, ``balanced``: a forecast each, with ``confidence``
    from 0 to 1);
    ``spent_usd``, what tuning cost.
    """

    def options(self, strategy: str = "balanced") -> dict[str, int]:
        """The sizes of a choice as options of a job: ``cloud.map(fn, items, **found.options("cost"))``.

        Raises:
            KeyError: if ``strategy`` is none of ``cost``, ``time`` and ``balanced``.
        """
        return {name: self["choices"][strategy][name] for name in ("workers", "memory_mb")}

    def table(self) -> str:
        """Forecasts and choices as text."""
        marks: dict[tuple[int, int], list[str]] = {}
        for name, one in self["choices"].items():
            marks.setdefault((one["workers"], one["memory_mb"]), []).append(name)
        lines = [_HEAD, *(_cells(row, marks) for row in self["forecasts"])]
        widths = [max(len(line[at]) for line in lines) for at in range(len(_HEAD))]
        text = [
            "  ".join(cell.rjust(width) for cell, width in zip(line[:-1], widths, strict=False))
            + f"  {line[-1]}"
            for line in lines
        ]
        said = [
            f"{name + ':':<9} {one['workers']} workers of {one['memory_mb']} MB, {one['runtime_s']:.3g} s, "
            f"${one['cost_usd']:.3g} (confidence {one['confidence']:.0%})"
            for name, one in self["choices"].items()
        ]
        failed = [
            f"failed:   {one['workers']} workers of {one['memory_mb']} MB: {one['error']}"
            for one in self["failed"]
        ]
        runs = f"{self._basis()}; they cost ${self['spent_usd']:.3g}"
        return "\n".join(line.rstrip() for line in [*text, "", *said, *self._missed(), *failed, runs])

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw runtime and cost over workers, a line for each memory size, the choices marked.

        Raises:
            BellwrenError: where matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure  # noqa: PLC0415  optional
        except ImportError as error:
            raise BellwrenError(
                "drawing needs matplotlib; install it with: pip install 'bellwren[plot]'"
            ) from error
        figure = Figure(figsize=(8, 7), layout="constrained")
        axes = figure.subplots(2, 1, sharex=True)
        sides = (("runtime_s", "runtime_range_s", "runtime, s"), ("cost_usd", "cost_range_usd", "cost, USD"))
        for axis, (name, band, label) in zip(axes, sides, strict=True):
            self._draw(axis, name, band)
            axis.set(ylabel=f"{label} (band: 95 % of runs)", xscale="log")
            axis.grid(visible=True, alpha=0.25)
            axis.set_ylim(bottom=0)
        counts = sorted({row["workers"] for row in self["forecasts"]})
        axes[1].set_xticks(counts, [str(count) for count in counts])
        axes[1].minorticks_off()
        axes[1].set_xlabel("workers")
        axes[0].legend(fontsize="small")
        axes[0].set_title(f"{self['algorithm']}, {self._basis()}")
        figure.savefig(path, dpi=120)
        return Path(path)

    def _missed(self) -> list[str]:
        limits = self["limits"]
        told = [
            text
            for name, text in (
                ("deadline_s", "the deadline of {:g} s"),
                ("budget_usd", "the budget of ${:g}"),
            )
            if limits[name] is not None
            for text in [text.format(limits[name])]
        ]
        return (
            []
            if limits["kept"]
            else [f"no size keeps {' and '.join(told)} for certain: these are of all sizes"]
        )

    def _basis(self) -> str:
        part = "the whole input" if self["sample"] == 1 else f"{self['sample']:.3g} of the input"
        return f"from {len(self['measured'])} runs on {part}"

    def _draw(self, axis: Any, name: str, band: str) -> None:
        sizes = sorted({row["memory_mb"] for row in self["forecasts"]})
        for number, memory_mb in enumerate(sizes):
            rows = [row for row in self["forecasts"] if row["memory_mb"] == memory_mb]
            workers = [row["workers"] for row in rows]
            axis.plot(
                workers, [row[name] for row in rows], marker=".", color=f"C{number}", label=f"{memory_mb} MB"
            )
            low, high = ([row[band][side] for row in rows] for side in (0, 1))
            axis.fill_between(workers, low, high, color=f"C{number}", alpha=0.12, linewidth=0)
        for choice, mark in (("cost", "v"), ("time", "^"), ("balanced", "o")):
            one = self["choices"][choice]
            style = {"marker": mark, "markersize": 10, "markerfacecolor": "none", "color": "black"}
            axis.plot([one["workers"]], [one[name]], linestyle="none", label=choice, **style)


def _cells(row: dict[str, Any], marks: dict[tuple[int, int], list[str]]) -> tuple[str, ...]:
    low_s, high_s = row["runtime_range_s"]
    low_usd, high_usd = row["cost_range_usd"]
    chosen = ", ".join(marks.get((row["workers"], row["memory_mb"]), []))
    return (
        f"{row['workers']}{'*' if row['extrapolated'] else ''}",
        f"{row['memory_mb']} MB",
        f"{row['runtime_s']:.3g} s",
        f"{low_s:.3g} to {high_s:.3g}",
        f"${row['cost_usd']:.3g}",
        f"{low_usd:.3g} to {high_usd:.3g}",
        f"< {chosen}" if chosen else "",
    )
