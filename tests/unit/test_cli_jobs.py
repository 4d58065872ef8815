"""The list of jobs: on a terminal, in a pipe, again and again."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from bellwren.cli.watching import cells, drawn, plain, rounds

NOW = datetime(2026, 1, 1, 12, 2, 5, tzinfo=UTC)


def status(job_id: str, state: str = "RUNNING", **more: Any) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "status": state,
        "kind": "map",
        "started_at": "2026-01-01T12:00:00+00:00",
        **more,
    }


class Jobs:
    """A cloud whose jobs go on with each look at them."""

    def __init__(self, *looks: list[dict[str, Any]]) -> None:
        self._looks = list(looks)
        self.known: list[set[str]] = []

    def statuses(self, known: dict[str, Any]) -> list[dict[str, Any]]:
        self.known.append(set(known))
        return self._looks.pop(0)


def test_a_running_job_has_its_progress_and_the_time_so_far() -> None:
    one = status("books-1", workers=8, progress={"done": 6, "total": 12, "stage": "map"})
    shown = cells(one, NOW)
    assert shown == ("books-1", "RUNNING", "map", "██████░░░░░░ 6/12 map", "8", "2 min 5 s", "")


def test_a_job_that_has_ended_has_what_it_took_and_cost() -> None:
    ended = {"finished_at": "2026-01-01T12:00:03.5+00:00", "cost_usd": 0.00123}
    one = status("books-1", "SUCCEEDED", progress={"done": 12, "total": 12, "stage": "reduce"}, **ended)
    assert cells(one, NOW)[3:] == ("████████████ 12/12", "", "3.5 s", "$0.001230")


def test_a_pipe_gets_columns_and_no_colours() -> None:
    text = plain([status("a"), status("a-longer-name", "REJECTED", kind=None)], NOW)
    head, first, second = text.splitlines()
    assert head.startswith("job            status    kind")
    assert first.index("RUNNING") == second.index("REJECTED") == head.index("status")
    assert "\x1b" not in text


def test_what_looks_like_markup_in_a_name_is_text() -> None:
    terminal = io.StringIO()
    Console(file=terminal, width=120, force_terminal=True).print(
        drawn([status("[red]x[/red]", "FAILED")], NOW)
    )
    assert "[red]x[/red]" in terminal.getvalue()
    assert "\x1b[31mFAILED" in terminal.getvalue()


def test_watching_ends_when_no_job_runs_and_reads_what_has_ended_once() -> None:
    running, ended = status("a"), status("b", "SUCCEEDED")
    cloud = Jobs([running, ended], [status("a", "FAILED"), ended])
    seen = list(rounds(cloud, 20, every_s=0))  # type: ignore[arg-type]
    assert [[one["status"] for one in look] for look in seen] == [
        ["RUNNING", "SUCCEEDED"],
        ["FAILED", "SUCCEEDED"],
    ]
    assert cloud.known == [set(), {"a", "b"}]


@pytest.mark.parametrize("last", [1, 2])
def test_only_the_latest_are_waited_for(last: int) -> None:
    cloud = Jobs(
        [status("new", "SUCCEEDED"), status("old")], [status("new", "SUCCEEDED"), status("old", "FAILED")]
    )
    assert len(list(rounds(cloud, last, every_s=0))) == last  # type: ignore[arg-type]
