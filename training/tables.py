"""The evaluation as text and as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bellwren.records.importing import Imported
from training.scores import Summary

Results = Mapping[str, Mapping[str, Summary]]
_KINDS = ("interpolation", "extrapolation")


def sources(imported: Imported) -> str:
    """How each file was read, and what was left out."""
    lines = [f"{name}: read as {how}" for name, how in imported.read_as.items()]
    lines += [f"left out {fault}" for fault in imported.faults]
    lines.append(
        f"{len(imported.executions)} runs; {imported.duplicates} equal an earlier one and count as repeats"
    )
    return "\n".join(lines)


def table(title: str, models: Mapping[str, Summary]) -> str:
    """Errors of each model by the number of runs shown: MRE in per cent and MAE in seconds."""
    lines = []
    for kind in _KINDS:
        counts = sorted({int(runs) for summary in models.values() for runs in summary.get(kind, {})})
        if not counts:
            continue
        lines.append(f"\n{title}, {kind}: MRE % (MAE s) after n runs")
        lines.append(
            f"{'':14s}" + "".join(f"{f'n={runs}':>16s}" for runs in counts) + "   95 %: covered, width"
        )
        for name, summary in models.items():
            cells = [summary.get(kind, {}).get(str(runs)) for runs in counts]
            text = "".join(f"{_cell(c):>16s}" for c in cells)
            shown = [c for runs, c in zip(counts, cells, strict=True) if c and runs > 0]
            cover = np.mean([c["coverage95"] for c in shown]) if shown else float("nan")
            width = np.mean([c["width95"] for c in shown]) if shown else float("nan")
            lines.append(f"{name:14s}{text}   {100 * cover:.1f} %, {width:.3f}")
    return "\n".join(lines)


def means(results: Results) -> str:
    """The same, averaged over the algorithms that have each number."""
    merged: dict[str, Summary] = {}
    for name in dict.fromkeys(name for models in results.values() for name in models):
        for kind in _KINDS:
            of_kind = [models[name].get(kind, {}) for models in results.values() if name in models]
            for runs in sorted({runs for found in of_kind for runs in found}):
                cells = [found[runs] for found in of_kind if runs in found]
                if len(cells) == len(results):
                    average = {key: float(np.mean([cell[key] for cell in cells])) for key in cells[0]}
                    merged.setdefault(name, {}).setdefault(kind, {})[runs] = average
    return table(f"mean of {len(results)} algorithms", merged)


def draw(results: Results, folder: Path) -> list[Path]:
    """MRE over the number of runs shown, one picture for each algorithm."""
    import matplotlib  # noqa: PLC0415  slow to import, and needed only here

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for algorithm, models in results.items():
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
        for axis, kind in zip(axes, _KINDS, strict=True):
            for name, summary in models.items():
                points = sorted((int(runs), cell["mre"]) for runs, cell in summary.get(kind, {}).items())
                style = {"color": "black", "linestyle": ":"} if name == "floor" else {"marker": "o"}
                axis.plot([x for x, _ in points], [y for _, y in points], label=name, **style)
            axis.set(title=f"{algorithm}: {kind}", xlabel="runs of the context shown", yscale="log")
            axis.grid(visible=True, alpha=0.3)
        axes[0].set_ylabel("mean relative error, %")
        axes[1].legend()
        path = folder / f"{algorithm}.png"
        figure.savefig(path, dpi=120)
        pyplot.close(figure)
        paths.append(path)
    return paths


def _cell(values: Mapping[str, float] | None) -> str:
    return f"{values['mre']:.2f} ({values['mae']:.1f})" if values else "-"
