"""A forecast as a picture: runtime with its band and the deadline above, cost below, a line for each memory size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bellwren.errors import BellwrenError

Row = Mapping[str, Any]


def draw(forecast: Mapping[str, Any], path: Path) -> Path:
    """Draw the answer of the prediction function into a file.

    Args:
        forecast: ``forecasts``, ``choice``, ``reason``, and ``deadline_s`` where there is one.
        path: of the file; its suffix says in which format.

    Raises:
        BellwrenError: where matplotlib is not installed, or does not write such files.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  optional
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise BellwrenError(
            "drawing a forecast needs matplotlib, which is not installed here; install it with: "
            "pip install 'bellwren[plot]'. forecast.table() shows the same figures as text"
        ) from error
    figure = Figure(figsize=(8, 7), layout="constrained")
    kinds = sorted(FigureCanvasAgg(figure).get_supported_filetypes())
    if path.suffix[1:].lower() not in kinds:
        raise BellwrenError(f"{path}: a plot is written as {', '.join('.' + kind for kind in kinds)}")
    _draw_on(figure, forecast)
    figure.savefig(path, dpi=120)
    return path


def _draw_on(figure: Any, forecast: Mapping[str, Any]) -> None:
    runtime, cost = figure.subplots(2, 1, sharex=True)
    for number, (memory_mb, rows) in enumerate(_by_memory(forecast["forecasts"]).items()):
        workers, colour = [row["workers"] for row in rows], f"C{number % 10}"
        style = {"color": colour, "marker": ".", "label": f"{memory_mb} MB"}
        runtime.plot(workers, [row["runtime_s"] for row in rows], **style)
        low, high = ([row[name] for row in rows] for name in ("runtime_s", "runtime_p95_s"))
        runtime.fill_between(workers, low, high, color=colour, alpha=0.15, linewidth=0)
        cost.plot(workers, [row["cost_usd"] for row in rows], **style)
    if forecast.get("deadline_s") is not None:
        runtime.axhline(forecast["deadline_s"], color="black", linestyle="--", label="deadline")
    if forecast.get("budget_usd") is not None:
        cost.axhline(forecast["budget_usd"], color="black", linestyle="--", label="budget")
    choice = forecast["choice"]
    for axis, name, label in (
        (runtime, "runtime_s", "runtime, s (band: to the 95 % quantile)"),
        (cost, "cost_usd", "cost, USD"),
    ):
        mark = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "color": "black"}
        axis.plot([choice["workers"]], [choice[name]], linestyle="none", label="choice", **mark)
        axis.set(ylabel=label, xscale="log")
        axis.grid(visible=True, which="both", alpha=0.25)
    runtime.set_yscale("log")
    cost.set_ylim(bottom=0)
    ticks = _ticks(sorted({row["workers"] for row in forecast["forecasts"]}))
    cost.set_xticks(ticks, [str(tick) for tick in ticks])
    cost.minorticks_off()
    cost.set_xlabel("workers")
    runtime.legend(fontsize="small")
    # Fewer characters to a line than would fit; the reason is one long sentence.
    runtime.set_title(f"{forecast['algorithm']}: {forecast['reason']}", fontsize="small", wrap=True)


def _by_memory(rows: Sequence[Row]) -> dict[int, list[Row]]:
    sizes = sorted({row["memory_mb"] for row in rows})
    return {
        size: sorted((row for row in rows if row["memory_mb"] == size), key=lambda row: int(row["workers"]))
        for size in sizes
    }


def _ticks(counts: list[int], most: int = 12) -> list[int]:
    """Evenly many of the scale-outs, the two ends among them, none so near to the last that their labels touch."""
    step = max(1, -(-len(counts) // most))
    return [count for count in counts[::step] if count * 1.15 < counts[-1]] + counts[-1:]
