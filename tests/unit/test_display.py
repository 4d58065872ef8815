"""How a job shows in a notebook, and in a terminal or a pipe while it is waited for."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from bellwren import progress
from bellwren.display import Failures, job_rows, job_table
from bellwren.errors import TaskFailure

STATUS: dict[str, Any] = {
    "job_id": "books-1",
    "status": "FAILED",
    "progress": {"done": 3, "total": 4, "stage": "map"},
    "workers": 2,
    "memory_mb": 512,
    "failed": 1,
    "cost_usd": 0.0000125,
    "error": {"type": "TaskError", "message": "<b>1 of 4</b>"},
}
FAILURE = TaskFailure(3, "ValueError", "<script>bad</script>", "Traceback <here>", "'x & y'")


def test_a_job_shows_what_is_known_of_it_and_leaves_out_the_rest() -> None:
    assert job_rows({"job_id": "j", "status": "QUEUED"}) == [("job", "j"), ("status", "QUEUED")]
    rows = dict(job_rows(STATUS))
    assert rows["progress"] == "3 of 4 tasks (map)"
    assert rows["cost"] == "0.000013 USD"
    assert "results" not in rows


def test_nothing_of_a_job_or_its_failures_is_taken_for_markup() -> None:
    page = job_table(STATUS, [FAILURE])
    assert "<b>" not in page
    assert "<script>" not in page
    assert "&lt;script&gt;bad" in page
    assert "Traceback &lt;here&gt;" in page
    assert "x &amp; y" in page


def test_many_failures_show_as_a_few_and_where_the_rest_is() -> None:
    page = Failures([FAILURE] * 1_234)._repr_html_()
    assert page.count("<details>") == 10
    assert "1,224 more: job.failures()" in page
    assert Failures()._repr_html_() == "no item failed"


def test_a_long_message_is_cut() -> None:
    assert len(job_table({**STATUS, "error": {"type": "E", "message": "x" * 10_000}}, [])) < 2_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_on_a_terminal_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.watch("books-1") as show:
        show({"status": "RUNNING", "progress": {"done": 1, "total": 4, "stage": "map"}})
    said = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "books-1 running map" in said
    assert "1/4" in said
    assert said.rpartition("\r")[2].strip() == ""


@pytest.mark.parametrize(("stream", "enabled"), [(io.StringIO, True), (Terminal, False)])
def test_progress_is_quiet_in_a_pipe_and_when_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], enabled: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with progress.watch("books-1", enabled=enabled) as show:
        show({"status": "RUNNING"})
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
