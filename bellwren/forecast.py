"""A forecast as its user sees it: what a job would take and cost at every scale-out, which one is best, and why."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_HEAD = ("workers", "memory", "runtime", "95 %", "cost", "meets deadline")


class Forecast(dict[str, Any]):
    """The answer of the prediction function, which is a plain dictionary, with ways to look at it.

    Its keys are ``algorithm``; ``model`` (``version``, ``family``, ``records``, ``mre`` in per cent; None where there
    is none); ``source`` (what was asked: ``context model``, ``general model``, ``analytic prior``, ``stated default``);
    ``forecasts``, ``choice``, ``reason`` and ``flags``, which are attributes too.

    >>> forecast = cloud.forecast("wordcount", bytes=200e6, deadline_s=120)
    >>> forecast.choice["meets_deadline"], forecast["algorithm"]
    (True, 'wordcount')
    """

    @property
    def forecasts(self) -> list[Row]:
        """A row for each ``workers`` and ``memory_mb``: ``runtime_s``, ``runtime_p95_s`` (which 95 of 100 runs keep),
        ``cost_usd``, ``meets_deadline``, and ``extrapolated`` where nothing of such a scale-out was ever measured."""
        return list(self["forecasts"])

    @property
    def choice(self) -> Row:
        """The row that a job with ``workers="auto"`` and ``memory_mb="auto"`` takes."""
        return dict(self["choice"])

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return str(self["reason"])

    @property
    def flags(self) -> list[str]:
        """What is unusual about the question: values that the model has never seen, in words."""
        return list(self["flags"])

    def table(self) -> str:
        """All rows as text, the choice marked, with the reason and what is unusual below."""
        lines = [_cells(row) for row in self["forecasts"]]
        widths = [max(len(line[at]) for line in [_HEAD, *lines]) for at in range(len(_HEAD))]
        marks = ["  ", *("> " if self._chosen(row) else "  " for row in self["forecasts"])]
        table = [
            mark + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for mark, line in zip(marks, [_HEAD, *lines], strict=True)
        ]
        return "\n".join([*table, "", self.reason, *(f"note: {flag}" for flag in self.flags)])

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw runtime with its band, and cost, over workers; the file's suffix says in which format (PNG, SVG, PDF).

        Returns:
            The path.

        Raises:
            BellwrenError: where matplotlib is not installed, or does not write such files.
        """
        from bellwren.forecast_plot import draw  # noqa: PLC0415  matplotlib is optional, and slow to import

        return draw(self, Path(path))

    def _chosen(self, row: Row) -> bool:
        choice = self["choice"]
        return bool((row["workers"], row["memory_mb"]) == (choice["workers"], choice["memory_mb"]))

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        head = "".join(f"<th>{name}</th>" for name in _HEAD)
        rows = [
            f"<tr{' style=font-weight:bold' if self._chosen(row) else ''}>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row))
            + "</tr>"
            for row in self["forecasts"]
        ]
        notes = "".join(f"<br>{escape(flag)}" for flag in self.flags)
        return f"<table><tr>{head}</tr>{''.join(rows)}</table><p>{escape(self.reason)}{notes}</p>"


def _cells(row: Row) -> tuple[str, ...]:
    beyond = "*" if row.get("extrapolated") else ""
    return (
        f"{row['workers']}{beyond}",
        f"{row['memory_mb']} MB",
        seconds(row["runtime_s"]),
        seconds(row["runtime_p95_s"]),
        f"${row['cost_usd']:.4g}",
        "yes" if row["meets_deadline"] else "no",
    )


def seconds(value: float) -> str:
    """Three digits are more than any forecast knows."""
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"
