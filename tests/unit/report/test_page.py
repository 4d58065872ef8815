"""The page of a job: bounded, whole, and safe against whatever users put into it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from bellwren.report.curves import forecast_curve, superstep_curves
from bellwren.report.page import page
from bellwren.report.timeline import MOST_LANES, svg, timeline

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
STATUS = {
    "job_id": "job-1",
    "name": "books",
    "status": "SUCCEEDED",
    "kind": "map",
    "algorithm": "count",
    "failures": [],
    "failed": 0,
    "error": None,
}


def task(number: int, start_s: float, **more: Any) -> dict[str, Any]:
    return {
        "task": number,
        "how": "home",
        "outcome": "committed",
        "started_at": 1000.0 + start_s,
        "fetch_s": 0.1,
        "compute_s": 1.0,
        "commit_s": 0.1,
        "items": 5,
        "failed": 0,
        "lost_runners": 0,
        **more,
    }


def worker(number: int, *tasks: dict[str, Any], cold: bool = False) -> dict[str, Any]:
    return {
        "worker": number,
        "round": 0,
        "cold": cold,
        "started_at": 1000.0,
        "finished_at": 1010.0,
        "stopped": "",
        "tasks": list(tasks),
    }


class Tags(HTMLParser):
    """The elements of a page, and how they nest."""

    VOID = ("meta", "input")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(made: bytes) -> Tags:
    tags = Tags()
    tags.feed(made.decode())
    assert tags.open == []
    return tags


def test_nothing_from_users_becomes_markup() -> None:
    failure = {"index": 0, "type": HOSTILE, "message": HOSTILE, "traceback": HOSTILE}
    status = {**STATUS, "name": HOSTILE, "algorithm": HOSTILE, "failures": [failure], "failed": 1}
    stages = {HOSTILE: [worker(0, task(0, 0.0, how=HOSTILE))]}
    forecast = {"choice": None, "forecasts": [], "reason": HOSTILE, "flags": [HOSTILE]}
    made = page(status=status, record=None, forecast=forecast, stages=stages)
    tags = parsed(made)
    assert "img" not in tags.seen
    assert tags.seen.count("script") == 3
    assert b"alert(1)</script>" not in made


def test_the_page_loads_nothing() -> None:
    made = page(status=STATUS, record=None, forecast=None, stages={}).decode()
    assert "default-src 'none'" in made
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', made)


def test_a_job_that_never_came_to_work_has_a_page() -> None:
    status = {**STATUS, "status": "REJECTED", "name": None, "kind": None, "algorithm": None}
    status |= {"error": {"type": "SpecError", "message": "wrong", "faults": []}}
    made = page(status=status, record=None, forecast=None, stages={})
    parsed(made)
    assert b"SpecError" in made


def test_what_happened_to_a_task_is_its_colour() -> None:
    line = timeline(
        {
            "map": [
                worker(0, task(0, 0.0), task(1, 2.0, failed=1), cold=True),
                worker(1, task(2, 0.0, how="steal"), task(3, 2.0, lost_runners=1)),
            ],
            "reduce": [worker(0, task(0, 5.0, how="backup"))],
        }
    )
    assert line.lanes == ("map · worker 0", "map · worker 1", "reduce · worker 0")
    assert [(bar.lane, bar.kind) for bar in line.bars] == [
        (0, "cold"),
        (0, "home"),
        (0, "failed"),
        (1, "alive"),
        (1, "steal"),
        (1, "retried"),
        (2, "alive"),
        (2, "backup"),
    ]
    assert line.end_s == 10.0
    drawn = svg(line)
    assert drawn.count("<rect") == 8
    assert "map, task 1 (home, committed)" in drawn


@pytest.mark.parametrize(("workers", "tasks"), [(1000, 10), (10_000, 1), (1, 10_000)])
def test_a_page_stays_small_whatever_the_job(workers: int, tasks: int) -> None:
    stages = {
        "map": [
            worker(
                number,
                *(
                    task(at, 10 * at / tasks, compute_s=8 / tasks, failed=number % 7 == at)
                    for at in range(tasks)
                ),
            )
            for number in range(workers)
        ]
    }
    made = page(status=STATUS, record=None, forecast=None, stages=stages)
    assert len(made) < 1_000_000
    assert made.count(b'class="lane"') <= MOST_LANES
    assert f"and {workers - 1000:,} more".encode() in made or workers <= 1000


def test_a_failed_task_shows_however_many_there_are() -> None:
    workers = [worker(n, task(n, 1.0, failed=int(n == 777))) for n in range(2000)]
    drawn = svg(timeline({"map": workers}))
    assert 'class="bar failed"' in drawn
    assert ": items failed, 1 in all</title>" in drawn


def test_the_forecast_is_drawn_at_the_memory_that_was_chosen() -> None:
    def row(workers: int, memory_mb: int) -> dict[str, Any]:
        return {
            "workers": workers,
            "memory_mb": memory_mb,
            "runtime_s": 10 / workers,
            "runtime_p95_s": 12 / workers,
            "cost_usd": 0.1,
        }

    forecasts = [row(4, 1769), row(1, 1769), row(2, 1769), row(2, 3538)]
    forecast = {"choice": row(2, 1769), "forecasts": forecasts}
    record = {"outcome": "SUCCEEDED", "runtime_s": 6.0, "workers": 2}
    curve = forecast_curve(forecast, record)
    assert curve is not None
    assert curve["workers"] == [1, 2, 4]
    assert curve["actual_s"] == [None, 6.0, None]
    assert forecast_curve({"choice": row(2, 1769), "forecasts": [row(2, 1769)]}, record) is None


def test_aggregates_that_are_numbers_are_drawn_superstep_by_superstep() -> None:
    history = [
        {
            "superstep": number,
            "wall_s": 0.1,
            "messages": 3,
            "active": 2,
            "aggregates": {"loss": 1 / (number + 1), "note": "NaN", "done": True},
        }
        for number in range(3)
    ]
    curves = superstep_curves({"history": history})
    assert curves is not None
    assert set(curves["series"]) == {"seconds", "messages", "active partitions", "loss"}
    assert json.dumps(curves, allow_nan=False)
    assert superstep_curves({"history": [{"step": 1, "loss": 2.0}]}) is None


@pytest.mark.parametrize(
    ("end_s", "marks"),
    [
        (0.0, ["0"]),
        (0.07, ["0", "0.02", "0.04", "0.06"]),
        (9.58, ["0", "2", "4", "6", "8"]),
        (890.0, ["0", "200", "400", "600", "800"]),
    ],
)
def test_the_axis_has_round_numbers(end_s: float, marks: list[str]) -> None:
    one = {**worker(0), "finished_at": 1000.0 + end_s}
    assert re.findall(r">([\d.]+) s</span>", svg(timeline({"map": [one]}))) == marks
