"""The server's process: launched into the background, recognised again, ended with everything below it."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from bellwren.local import ports, processes, state
from bellwren.local.errors import LocalCloudError
from bellwren.local.settings import server_environment
from bellwren.local.state import State

_START_TIMEOUT_S = 60.0
_SHOWN_LOG_LINES = 10
LOG = "cloud.log"


def answers(known: State) -> bool:
    """Whether the server that was written down is alive and is the one that listens on its port."""
    if known.pid is None or not processes.bears(known.pid, known.marker):
        return False
    found = ports.identity(known.port)
    return found is not None and found["marker"] == known.marker


def launch(place: Path, known: State, port: int, owner_pid: int | None = None) -> State:
    """Start the server in ``place`` and wait until it answers; it ends when the owner has ended, if there is one.

    Raises:
        LocalCloudError: it ended, or did not answer within a minute.
    """
    shutil.rmtree(place / "tmp", ignore_errors=True)
    (place / "tmp").mkdir(parents=True)
    marker = secrets.token_hex(8)
    owner = [] if owner_pid is None else [str(owner_pid)]
    if (place / LOG).exists():
        (place / LOG).replace(place / f"{LOG}.1")  # why the last server ended may stand there
    with (place / LOG).open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "bellwren.local.server", str(place), *owner],
            cwd=place,
            env=server_environment(place, port, marker),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    launched = replace(known, port=port, python=sys.executable, marker=marker, pid=server.pid)
    state.write(place, launched)
    try:
        _wait(place, launched, server)
    except BaseException:
        end(place, launched)
        raise
    server.returncode = 0  # it goes on without us: no warning when this handle is dropped
    return launched


def _wait(place: Path, launched: State, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not answers(launched):
        code = server.poll()
        if code is not None or time.monotonic() > deadline:
            found = f"ended with exit code {code}" if code is not None else "did not answer within a minute"
            log = place / LOG
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
            raise LocalCloudError(f"the server {found}; the end of its log {log}:\n" + "\n".join(last))
        time.sleep(0.03)


def end(place: Path, known: State) -> State:
    """End the server and everything below it, saving its state if it still answers, and write that down.

    Killed, not asked: once the state is saved there is nothing left to do, and MiniStack would wait for running
    functions, which may take 15 minutes.
    """
    if answers(known):
        ports.checkpoint(known.port)
    ours = processes.family(known.marker) if known.marker else set()
    processes.kill(ours)
    if known.pid in ours:
        ports.wait_until_free(known.port)
    shutil.rmtree(place / "tmp", ignore_errors=True)
    ended = replace(known, pid=None)
    state.write(place, ended)
    return ended
