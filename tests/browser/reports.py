"""Documents of a job that has something of everything, and the page of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bellwren.report.page import page
from tests.unit.report.test_page import STATUS, task, worker

HOSTILE = "</script><script>document.title = 'hacked'</script><img src=x onerror=\"document.title='hacked'\">"

RECORD: dict[str, Any] = {
    "outcome": "SUCCEEDED",
    "runtime_s": 6.5,
    "items": 60,
    "bytes": 50_000_000,
    "reason": "the forecast chose",
    "workers": 3,
    "memory_mb": 1769,
    "stages": [
        {"name": "map", "tasks": 12, "workers": 3, "wall_s": 6.1, "items": 60, "steals": 1, "backups": 1}
    ],
    "cost": {"lambda_gb_s": 0.0004, "s3": 0.0001},
    "cost_usd": 0.0005,
    "history": [
        {
            "superstep": n,
            "wall_s": 0.1 + n / 100,
            "messages": 100 - n,
            "active": 4,
            "aggregates": {"change": 2.0**-n},
        }
        for n in range(20)
    ],
}


def forecast(**more: Any) -> dict[str, Any]:
    rows = [
        {
            "workers": workers,
            "memory_mb": 1769,
            "runtime_s": 2 + 16 / workers,
            "runtime_p95_s": 3 + 20 / workers,
            "cost_usd": 0.0004 + 0.00005 * workers,
        }
        for workers in (1, 2, 4, 8, 16)
    ]
    model = {"family": "ours", "version": "0003", "records": 12, "mre": 4.2}
    said = {"reason": "4 workers are the cheapest within 60 s", "flags": [], "model": model}
    return {"choice": rows[2], "forecasts": rows, **said, **more}


def everything(text: str = "a word") -> bytes:
    """The page of a job of 3 workers with a cold start, a steal, a backup, a lost runner and failures."""
    stages = {
        "map": [
            worker(0, *(task(n, n * 1.3) for n in range(4)), cold=True),
            worker(1, *(task(4 + n, n * 1.3, failed=int(n == 2)) for n in range(4))),
            worker(
                2,
                task(8, 0.0),
                task(9, 1.5, lost_runners=1),
                task(3, 4.0, how="steal"),
                task(2, 6.0, how="backup"),
            ),
        ],
        "reduce": [worker(0, task(0, 8.0))],
    }
    failures = [
        {"index": n, "type": "ValueError", "message": f"{text}, item {n}", "traceback": f"Traceback: {text}"}
        for n in range(3)
    ]
    status = {**STATUS, "name": text, "failures": failures, "failed": 5, "workers": 3, "memory_mb": 1769}
    status |= {
        "started_at": "2026-01-01T10:00:00Z",
        "finished_at": "2026-01-01T10:00:07Z",
        "cost_usd": 0.0005,
    }
    return page(status=status, record=RECORD, forecast=forecast(reason=text), stages=stages)


def large() -> bytes:
    """The page of 1,000 workers and 10,000 tasks."""
    return page(
        status=STATUS,
        record=None,
        forecast=None,
        stages={"map": [worker(n, *(task(10 * n + k, float(k)) for k in range(10))) for n in range(1000)]},
    )


def written(folder: Path, made: bytes) -> str:
    path = folder / "report.html"
    path.write_bytes(made)
    return path.as_uri()
