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
NONE = "there are no jobs yet"
EVERY_S = 2.0
_BAR = 12
_LEFT_OUT = ("kind", "bar", "workers", "cost", "progress", "time")
"""What a narrow terminal does without, the least missed first: a job's id is whole, for it is what one copies."""
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


def cells(status: Status, now: datetime, *, bar: bool = True) -> tuple[str, ...]:
    """One job as text, as ``HEAD`` names it; with or without a bar before its progress in figures."""
    cost = status.get("cost_usd")
    workers = status.get("workers")
    return (
        status["job_id"],
        status["status"],
        status.get("kind") or "",
        _progress(status, bar),
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


def fitting(statuses: Sequence[Status], now: datetime, width: int) -> list[list[str]]:
    """The head and a line for each job, with what goes into ``width`` columns of a terminal."""
    for many in range(len(_LEFT_OUT) + 1):
        without = _LEFT_OUT[:many]
        whole = [HEAD, *(cells(one, now, bar="bar" not in without) for one in statuses)]
        kept = [at for at, name in enumerate(HEAD) if name not in without]
        lines = [[line[at] for at in kept] for line in whole]
        if sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) - 2 <= width:
            break
    return lines


def drawn(statuses: Sequence[Status], now: datetime | None = None, width: int = 120) -> Table | str:
    """The list as a table for a terminal. Names are text: what looks like Rich's markup in them is not."""
    from rich.table import Table  # noqa: PLC0415  a pipe need not wait for it
    from rich.text import Text  # noqa: PLC0415

    if not statuses:
        return NONE
    head, *lines = fitting(statuses, now or datetime.now(UTC), width)
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for one, line in zip(statuses, lines, strict=True):
        texts = [Text(cell) for cell in line]
        texts[1].stylize(_COLOURS.get(one["status"], ""))
        table.add_row(*texts)
    return table


def _progress(status: Status, bar: bool) -> str:
    progress = status.get("progress") or {}
    total = progress.get("total")
    if not total:
        return ""
    done = progress.get("done") or 0
    full = _BAR * min(done, total) // total
    drawn = f"{'█' * full}{'░' * (_BAR - full)} " if bar else ""
    stage = f" {progress['stage']}" if progress.get("stage") and status["status"] not in FINAL else ""
    return f"{drawn}{done}/{total}{stage}"


def _took(status: Status, now: datetime) -> str:
    if not status.get("started_at"):
        return ""
    began = datetime.fromisoformat(status["started_at"])
    ended = datetime.fromisoformat(status["finished_at"]) if status.get("finished_at") else now
    seconds = max(0.0, (ended - began).total_seconds())
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
