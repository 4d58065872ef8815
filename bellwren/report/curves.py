"""What the page draws as curves: the forecast over workers, and the aggregates over supersteps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
_MOST_AGGREGATES = 6


def forecast_curve(forecast: Document | None, record: Document | None) -> dict[str, Any] | None:
    """Runtime and cost over workers at the memory size that was chosen; None if fewer than two were forecast."""
    choice = (forecast or {}).get("choice")
    if not forecast or not choice:
        return None
    rows = sorted(
        (row for row in forecast["forecasts"] if row["memory_mb"] == choice["memory_mb"]),
        key=lambda row: row["workers"],
    )
    if len(rows) < 2:
        return None
    measured = None
    if record and record["outcome"] == "SUCCEEDED" and record["workers"]:
        measured = {"workers": record["workers"], "runtime_s": record["runtime_s"]}
        if measured["workers"] not in [row["workers"] for row in rows]:
            gap = dict.fromkeys(("runtime_s", "runtime_p95_s", "cost_usd"))
            rows = sorted([*rows, {**gap, "workers": measured["workers"]}], key=lambda row: row["workers"])
    return {
        "memory_mb": choice["memory_mb"],
        "chosen": choice["workers"],
        "workers": [row["workers"] for row in rows],
        "runtime_s": [row["runtime_s"] for row in rows],
        "runtime_p95_s": [row["runtime_p95_s"] for row in rows],
        "cost_usd": [row["cost_usd"] for row in rows],
        "actual_s": [
            measured["runtime_s"] if measured and row["workers"] == measured["workers"] else None
            for row in rows
        ],
    }


def superstep_curves(record: Document | None) -> dict[str, Any] | None:
    """Time, messages and numeric aggregates superstep by superstep; None for a job that has none."""
    history = (record or {}).get("history")
    if not history or "superstep" not in history[0]:
        return None
    names = [
        name
        for name, value in history[-1]["aggregates"].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    series = {
        "seconds": [one["wall_s"] for one in history],
        "messages": [one["messages"] for one in history],
        "active partitions": [one["active"] for one in history],
    }
    for name in names[:_MOST_AGGREGATES]:
        values = [one["aggregates"].get(name) for one in history]
        series[name] = [
            value if isinstance(value, int | float) and not isinstance(value, bool) else None
            for value in values
        ]
    return {"supersteps": [one["superstep"] for one in history], "series": series}
