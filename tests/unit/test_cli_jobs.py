"""The list of jobs: on a terminal, in a pipe, again and again."""

from __future__ import annotations

import fcntl
import io
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from bellwren.cli.watching import cells, drawn, fitting, plain, rounds

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


def test_a_narrow_terminal_shows_ids_whole_and_leaves_out_what_is_least_missed() -> None:
    one = status("monte-carlo-simulate-3f2a9c0d1e4b5a69", workers=8, progress={"done": 6, "total": 12})
    names = {width: fitting([one], NOW, width) for width in (120, 80, 60, 20)}
    assert names[120][0] == ["job", "status", "kind", "progress", "workers", "time", "cost"]
    assert names[80] == [
        ["job", "status", "progress", "time", "cost"],
        [one["job_id"], "RUNNING", "6/12", "2 min 5 s", ""],
    ]
    assert names[60][0] == ["job", "status", "time"]
    assert names[20][0] == ["job", "status"]


TERMINAL = """
import signal
from functools import partial
from bellwren.cli import jobs, main, watching

class Cloud:
    looks = 0
    def statuses(self, known=()):
        self.looks += 1
        state = "SUCCEEDED" if 0 < LOOKS <= self.looks else "RUNNING"
        progress = {"done": self.looks, "total": 3, "stage": "map"}
        job = {"job_id": "monte-carlo-simulate-3f2a9c0d1e4b5a69", "status": state, "kind": "map", "workers": 2}
        return [{**job, "progress": progress, "started_at": "2026-01-01T12:00:00+00:00"}] if LOOKS else []

jobs.connected = lambda stage, local: Cloud()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, as tests may run in, ignores it
jobs.rounds = partial(watching.rounds, every_s=0.05)
main(["jobs", "--watch"])
"""


@contextmanager
def terminal(looks: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """``bellwren jobs --watch`` in a terminal of 80 columns; its one job ends at the given look, if at all."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    process = subprocess.Popen(
        [sys.executable, "-c", f"LOOKS = {looks}\n{TERMINAL}"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def shown(ours: int, until: str = "") -> str:
    """What comes to the terminal, to its end or to a text."""
    text = ""
    while not (until and until in text):
        try:
            text += os.read(ours, 65536).decode("utf-8", "replace")
        except OSError:  # the other end was closed
            break
    return text


def test_a_terminal_shows_the_list_in_place_until_nothing_runs() -> None:
    with terminal(looks=3) as (process, ours):
        text = shown(ours)
        assert process.wait() == 0
    states = re.findall(r"RUNNING|SUCCEEDED", text)
    assert states[0] == "RUNNING"
    assert states[-1] == "SUCCEEDED"
    assert text.count("monte-carlo-simulate-3f2a9c0d1e4b5a69") == text.count("3f2a9c0d1e4b5a69") >= 3
    assert "\x1b[1A" in text  # the cursor goes up: the list is drawn over the earlier one
    assert "\x1b[?25h" in text  # and is seen again at the end
    assert "3/3" in text


def test_ctrl_c_ends_the_watching_without_a_word() -> None:
    with terminal(looks=10**9) as (process, ours):
        text = shown(ours, until="RUNNING")
        process.send_signal(signal.SIGINT)
        text += shown(ours)
        assert process.wait() == 0
    assert "Traceback" not in text
    assert "\x1b[?25h" in text


def test_a_terminal_is_told_that_there_are_no_jobs() -> None:
    with terminal(looks=0) as (process, ours):
        assert "there are no jobs yet" in shown(ours)
        assert process.wait() == 0
