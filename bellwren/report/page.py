"""Puts the page together. Everything that comes from users is escaped, and the page may load nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from bellwren.display import job_rows
from bellwren.report.curves import forecast_curve, superstep_curves
from bellwren.report.timeline import LEGEND, Timeline, svg, timeline

Document = Mapping[str, Any]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(
    *,
    status: Document,
    record: Document | None,
    forecast: Document | None,
    stages: Mapping[str, Sequence[Document]],
) -> bytes:
    """The page of a job that has ended, UTF-8.

    Args:
        status: its final ``status.json``.
        record: its execution record, if it came so far.
        forecast: its ``forecast.json``, if there is one.
        stages: the workers' reports by stage, stages in order.
    """
    title = status.get("name") or status["job_id"]
    line = timeline(stages)
    sections = [
        ("At a glance", _figures(status, record, forecast) + _facts(status, record)),
        ("Failures", _failures(status)),
        ("Timeline", _timeline(line)),
        ("Forecast and outcome", _forecast(forecast, record)),
        ("Supersteps", '<div id="supersteps"></div>' if superstep_curves(record) else ""),
        ("Stages", _stages(record)),
        ("Cost", _cost(record)),
        ("Workers", _workers(stages)),
    ]
    body = "".join(f"<section><h2>{name}</h2>{inner}</section>" for name, inner in sections if inner)
    data = {"forecast": forecast_curve(forecast, record), "supersteps": superstep_curves(record)}
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(str(title))} · Bellwren</title>"
        f"<style>{_asset('uPlot.min.css')}{_asset('page.css')}</style></head><body>"
        f'<header><h1>{escape(str(title))}</h1><p><span class="chip {escape(str(status["status"]).lower())}">'
        f"{escape(str(status['status']))}</span> {escape(str(status.get('kind') or ''))} · "
        f"{escape(str(status.get('algorithm') or ''))} · <code>{escape(status['job_id'])}</code></p></header>"
        f'<main>{body}</main><script type="application/json" id="data">{_json(data)}</script>'
        f"<script>{_asset('uPlot.iife.min.js')}</script><script>{_asset('page.js')}</script></body></html>"
    ).encode("utf-8", "replace")


@cache
def _asset(name: str) -> str:
    return (files("bellwren.report") / "assets" / name).read_text("utf-8")


def _json(data: Any) -> str:
    """For a script element: no text in it can end the element or begin a comment."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    def cells(tag: str, row: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_shown(value))}</{tag}>" for value in row) + "</tr>"

    top = f"<thead>{cells('th', head)}</thead>" if head else ""
    return f'<div class="wide"><table>{top}<tbody>{"".join(cells("td", row) for row in rows)}</tbody></table></div>'


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _figures(status: Document, record: Document | None, forecast: Document | None) -> str:
    """The few figures that everybody looks for first, each with what explains it."""
    if not record:
        return ""
    choice = (forecast or {}).get("choice")
    expected = (
        f"forecast {choice['runtime_s']:.3g} s, 95 of 100 runs below {choice['runtime_p95_s']:.3g} s"
        if choice
        else "not forecast"
    )
    failed = status.get("failed") or 0
    cards = (
        ("runtime", f"{record['runtime_s']:.3g} s", expected),
        (
            "cost on AWS",
            f"{record['cost_usd']:.3g} USD",
            f"forecast {choice['cost_usd']:.3g} USD" if choice else "",
        ),
        ("workers", _shown(record["workers"]), f"of {record['memory_mb']:,} MB"),
        ("items", _shown(record["items"]), f"{failed:,} failed"),
    )
    drawn = "".join(
        f"<div><dt>{name}</dt><dd><b>{escape(value)}</b> <span>{escape(about)}</span></dd></div>"
        for name, value, about in cards
    )
    return f'<dl class="cards">{drawn}</dl>'


def _facts(status: Document, record: Document | None) -> str:
    told = {"job", "status"} | ({"workers", "memory", "failed items", "cost"} if record else set())
    rows = [row for row in job_rows(dict(status)) if row[0] not in told]
    rows += [("started", status.get("started_at")), ("finished", status.get("finished_at"))]
    if record:
        rows += [
            ("input", f"{record['bytes']:,} bytes"),
            ("why so many workers", record["reason"]),
        ]
    return _table((), [row for row in rows if row[1] is not None])


def _timeline(line: Timeline) -> str:
    boxes = "".join(
        f'<label class="key {kind}"><input type="checkbox" checked data-kind="{kind}"> {LEGEND[kind]}</label>'
        for kind in line.kinds
    )
    return f'<div class="legend">{boxes}</div>{svg(line)}'


def _forecast(forecast: Document | None, record: Document | None) -> str:
    if not forecast:
        return ""
    model = forecast.get("model") or {}
    names = {"family": "family", "version": "version", "records": "records learned from"}
    names["mre"] = "mean relative error in cross-validation, %"
    facts = [(said, model[name]) for name, said in names.items() if model.get(name) is not None]
    flags = [str(flag) for flag in forecast.get("flags") or ()]
    drawn = '<div id="forecast"></div>' if forecast_curve(forecast, record) else ""
    said = "".join(f"<p>{escape(text)}</p>" for text in (str(forecast.get("reason") or ""), *flags) if text)
    return said + drawn + (_table(("model", ""), facts) if facts else "")


def _stages(record: Document | None) -> str:
    if not record or not record["stages"]:
        return ""
    columns = {
        "stage": "name",
        "tasks": "tasks",
        "workers": "workers",
        "wall s": "wall_s",
        "fetch s": "fetch_s",
        "compute s": "compute_s",
        "commit s": "commit_s",
        "bytes in": "bytes_in",
        "items": "items",
        "failed": "failed",
        "steals": "steals",
        "backups": "backups",
        "lost runners": "lost_runners",
        "cold starts": "cold_starts",
        "peak MB": "peak_mb",
    }
    return _table(
        list(columns), [[stage.get(name) for name in columns.values()] for stage in record["stages"]]
    )


def _cost(record: Document | None) -> str:
    if not record:
        return ""
    rows = [(name.replace("_", " "), f"{usd:.8f}") for name, usd in record["cost"].items()]
    return _table(("line", "USD"), [*rows, ("total", f"{record['cost_usd']:.8f}")])


def _failures(status: Document) -> str:
    shown = [
        f"<details><summary>item {escape(str(one['index']))}: {escape(one['type'])}: {escape(one['message'][:300])}"
        f"</summary><pre>{escape(one.get('traceback') or one['message'])}</pre></details>"
        for one in status.get("failures") or ()
    ]
    error = status.get("error") or {}
    if error.get("traceback"):
        shown.insert(0, f"<pre>{escape(error['traceback'])}</pre>")
    rest = (status.get("failed") or 0) - len(status.get("failures") or ())
    return "".join(shown) + (f"<p>and {rest:,} more</p>" if rest > 0 and shown else "")


_MOST_WORKERS = 1000


def _workers(stages: Mapping[str, Sequence[Document]]) -> str:
    rows = [
        (
            stage,
            one["worker"],
            one["round"],
            "cold" if one["cold"] else "warm",
            one["finished_at"] - one["started_at"],
            len(one["tasks"]),
            sum(task["items"] for task in one["tasks"]),
            sum(task["failed"] for task in one["tasks"]),
            one["stopped"],
        )
        for stage, workers in stages.items()
        for one in workers
    ]
    if not rows:
        return ""
    head = ("stage", "worker", "round", "start", "seconds", "tasks", "items", "failed", "stopped")
    more = f"<p>and {len(rows) - _MOST_WORKERS:,} more</p>" if len(rows) > _MOST_WORKERS else ""
    return f"<details><summary>{len(rows)} invocation(s)</summary>{_table(head, rows[:_MOST_WORKERS])}{more}</details>"
