from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bellwren.local import processes
from bellwren.local.settings import MARKER_VARIABLE

SLEEP = "import time; time.sleep(60)"
# Starts a child whose environment is empty, says its pid, and sleeps.
PARENT = (
    "import subprocess, sys, time; "
    f"child = subprocess.Popen([sys.executable, '-S', '-c', {SLEEP!r}], env={{}}); "
    "print(child.pid, flush=True); time.sleep(60)"
)

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    started: list[subprocess.Popen[str]] = []

    def run(code: str, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-S", "-c", code]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_a_process_bears_the_marker_that_it_was_started_with(spawn: Spawn) -> None:
    ours = spawn(SLEEP, **{MARKER_VARIABLE: "abc"})
    assert eventually(lambda: processes.bears(ours.pid, "abc"))
    assert not processes.bears(ours.pid, "ab")
    assert not processes.bears(ours.pid, "abcd")


def test_a_pid_that_belongs_to_another_program_now_is_not_ours(spawn: Spawn) -> None:
    other = spawn(SLEEP, **{MARKER_VARIABLE: "of another cloud"})
    assert not processes.bears(other.pid, "abc")


def test_a_process_that_ended_bears_nothing_even_as_a_zombie(spawn: Spawn) -> None:
    ours = spawn(SLEEP, **{MARKER_VARIABLE: "abc"})
    assert eventually(lambda: processes.bears(ours.pid, "abc"))
    os.kill(ours.pid, signal.SIGKILL)
    assert eventually(lambda: not processes.bears(ours.pid, "abc"))


def test_the_family_holds_children_that_threw_their_environment_away(spawn: Spawn) -> None:
    ours = spawn(PARENT, **{MARKER_VARIABLE: "abc"})
    spawn(SLEEP, **{MARKER_VARIABLE: "of another cloud"})
    assert ours.stdout is not None
    child = int(ours.stdout.readline())
    assert processes.family("abc") == {ours.pid, child}
    processes.kill({ours.pid, child})


def test_an_orphan_of_a_dead_server_is_still_family(spawn: Spawn) -> None:
    code = PARENT.replace("env={}", f"env={{{MARKER_VARIABLE!r}: 'abc'}}")
    server = spawn(code, **{MARKER_VARIABLE: "abc"})
    assert server.stdout is not None
    worker = int(server.stdout.readline())
    server.kill()
    server.wait()
    assert eventually(lambda: processes.family("abc") == {worker})
    processes.kill({worker})
    assert processes.family("abc") == set()


def test_kill_returns_when_they_are_gone_and_does_not_mind_those_that_were(spawn: Spawn) -> None:
    gone = spawn("pass")
    gone.wait()
    # Ignores SIGTERM, as a function in the middle of a C extension may.
    stubborn = spawn(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}")
    processes.kill({gone.pid, stubborn.pid})
    assert not processes.alive(stubborn.pid)


def test_where_there_is_no_proc_the_same_is_found_through_ps(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not Path("/bin/ps").exists():
        pytest.skip("needs ps")
    ours = spawn(PARENT, **{MARKER_VARIABLE: "abc"})
    assert ours.stdout is not None
    child = int(ours.stdout.readline())
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    # Linux's ps has another letter for "with the environment" than macOS's.
    listing = processes._ps
    monkeypatch.setattr(
        processes, "_ps", lambda *words: listing(*(w.replace("-axEww", "axeww") for w in words))
    )
    assert processes.family("abc") == {ours.pid, child}
    processes.kill({ours.pid, child})
