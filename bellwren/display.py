"""How jobs and their failures show in a notebook: small tables, everything in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from bellwren.errors import TaskFailure

_SHOWN_FAILURES = 10
_LONGEST = 200

Row = tuple[str, object]


class Failures(list[TaskFailure]):
    """Failed items in item order; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return failure_table(self) if self else "no item failed"


def job_rows(status: dict[str, Any]) -> list[Row]:
    """What there is to say of a job in a few rows: names and values, unknown ones left out."""
    progress = status.get("progress") or {}
    error = status.get("error") or {}
    done = f"{progress.get('done') or 0} of {progress['total']} tasks" if progress.get("total") else None
    memory, cost = status.get("memory_mb"), status.get("cost_usd")
    rows: list[Row] = [
        ("job", status["job_id"]),
        ("status", status["status"]),
        ("progress", f"{done} ({progress['stage']})" if done and progress.get("stage") else done),
        ("workers", status.get("workers")),
        ("memory", f"{memory} MB" if memory else None),
        ("failed items", status.get("failed") or None),
        ("results", status.get("results_uri")),
        ("cost", f"{cost:.6f} USD" if cost is not None else None),
        ("error", f"{error['type']}: {error['message']}" if error else None),
    ]
    return [(name, value) for name, value in rows if value is not None]


def job_table(status: dict[str, Any], failures: Sequence[TaskFailure]) -> str:
    """A job as HTML, with the first of its failures."""
    rows = [(_cell(name, head=True) + _cell(value)) for name, value in job_rows(status)]
    return _table(rows) + (failure_table(failures) if failures else "")


def failure_table(failures: Sequence[TaskFailure]) -> str:
    """Failed items as HTML, the first ten; each one's traceback unfolds."""
    head = "".join(_cell(name, head=True) for name in ("item", "error", "message", "value"))
    rows = [head, *map(_failure_row, failures[:_SHOWN_FAILURES])]
    if len(failures) > _SHOWN_FAILURES:
        rest = len(failures) - _SHOWN_FAILURES
        rows.append(f'<td colspan="4">and {rest:,} more: job.failures()</td>')
    return _table(rows)


def _failure_row(failure: TaskFailure) -> str:
    message = _shortened(failure.message)
    if failure.traceback:
        trace = f'<pre style="text-align:left">{escape(failure.traceback)}</pre>'
        message = f"<details><summary>{message}</summary>{trace}</details>"
    return (
        _cell(failure.index)
        + _cell(failure.type)
        + f'<td style="text-align:left">{message}</td>'
        + _cell(failure.item)
    )


def _table(rows: Iterable[str]) -> str:
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _cell(value: object, *, head: bool = False) -> str:
    tag = "th" if head else "td"
    return f'<{tag} style="text-align:left">{_shortened(str(value))}</{tag}>'


def _shortened(text: str) -> str:
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
