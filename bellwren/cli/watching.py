"""The list of jobs as people see it, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bellwren.control.status import FINAL

if TYPE_CHECKING:
    from rich.table import Table

    from bellwren.cloud import Cloud

Status = dict[str, Any]

HEAD = ("job", "status", "kind", "progress", "workers", "time", "cost")
EVERY_S = 2.0
_BAR = 12
_COLOURS = {
    "SUCCEEDED": "green",
    "FAILED": "red",
    "REJECTED": "red",
    "CANCELLED": "yellow",
    "RUNNING": "cyan",
}


def rounds(cloud: Cloud, last: int, every_s: float = EVERY_S) -> Iterator[list[Status]]:
    """The statuses of the ``last`` jobs, the latest first, again and again until all have ended."""
    known: dict[str, Status] = {}
    while True:
        found = cloud.statuses(known)[:last]
        yield found
        if all(one["status"] in FINAL for one in found):
            return
        known = {one["job_id"]: one for one in found}
        time.sleep(every_s)


def cells(status: Status, now: datetime) -> tuple[str, ...]:
    """One job as text, as ``HEAD`` names it."""
    cost = status.get("cost_usd")
    workers = status.get("workers")
    return (
        status["job_id"],
        status["status"],
        status.get("kind") or "",
        _progress(status),
        "" if workers is None else str(workers),
        _took(status, now),
        "" if cost is None else f"${cost:.6f}",
    )


def plain(statuses: Sequence[Status], now: datetime | None = None) -> str:
    """The list in columns, for a pipe."""
    lines = [HEAD, *(cells(one, now or datetime.now(UTC)) for one in statuses)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def drawn(statuses: Sequence[Status], now: datetime | None = None) -> Table:
    """The list as a table for a terminal. Names are text: what looks like Rich's markup in them is not."""
    from rich.table import Table  # noqa: PLC0415  a pipe need not wait for it
    from rich.text import Text  # noqa: PLC0415

    table = Table(*HEAD, box=None, pad_edge=False, header_style="bold")
    for one in statuses:
        style = _COLOURS.get(one["status"], "")
        texts = [Text(cell) for cell in cells(one, now or datetime.now(UTC))]
        texts[1].stylize(style)
        table.add_row(*texts)
    return table


def _progress(status: Status) -> str:
    progress = status.get("progress") or {}
    total = progress.get("total")
    if not total:
        return ""
    done = progress.get("done") or 0
    full = _BAR * min(done, total) // total
    stage = f" {progress['stage']}" if progress.get("stage") and status["status"] not in FINAL else ""
    return f"{'█' * full}{'░' * (_BAR - full)} {done}/{total}{stage}"


def _took(status: Status, now: datetime) -> str:
    if not status.get("started_at"):
        return ""
    began = datetime.fromisoformat(status["started_at"])
    ended = datetime.fromisoformat(status["finished_at"]) if status.get("finished_at") else now
    seconds = max(0.0, (ended - began).total_seconds())
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
