"""The processes of a local cloud: which ones are ours, and how to end exactly those.

A process is ours when the marker of the cloud stands in the environment it was started with, which every
Lambda process and runner inherits, or when it descends from one that is. So a pid that meanwhile belongs to
another program is never mistaken for ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bellwren.local.settings import MARKER_VARIABLE

_PROC = Path("/proc")
_POLL_S = 0.02
_GONE_WITHIN_S = 10.0


def bears(pid: int, marker: str) -> bool:
    """Whether ``pid`` is a living process of the cloud with this marker."""
    return pid in _marked(marker, [pid])


def family(marker: str) -> set[int]:
    """All living processes of the cloud: server, Lambda processes, runners, and what those started."""
    parents = _parents()
    ours = _marked(marker, parents)
    while born := {pid for pid, parent in parents.items() if parent in ours and pid not in ours}:
        ours |= born
    return ours


def kill(pids: Iterable[int]) -> None:
    """Kill the processes and wait until they are gone."""
    remaining = set(pids)
    for pid in remaining:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _GONE_WITHIN_S
    while remaining and time.monotonic() < deadline:
        remaining = {pid for pid in remaining if alive(pid)}
        time.sleep(_POLL_S)


def alive(pid: int) -> bool:
    """Whether any process of that number has not ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a child of this very process would stay a zombie
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether it has ended and only waits for its parent to notice: in a container that may be for ever."""
    with suppress(OSError):
        return _PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def _marked(marker: str, pids: Iterable[int]) -> set[int]:
    wanted = f"{MARKER_VARIABLE}={marker}"
    if not _PROC.joinpath("self", "environ").exists():
        return _marked_by_ps(wanted, set(pids))
    found = set()
    for pid in pids:
        with suppress(OSError):  # ended meanwhile, or another user's
            if wanted.encode() in _PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0"):
                found.add(pid)
    return found


def _marked_by_ps(wanted: str, pids: set[int]) -> set[int]:
    """As :func:`_marked`, where there is no /proc (macOS)."""
    lines = (line.split(None, 1) for line in _ps("-axEww", "-o", "pid=,command="))
    return {int(line[0]) for line in lines if wanted in line[-1].split()} & pids


def _parents() -> dict[int, int]:
    """The parent of every process of the machine."""
    if _PROC.joinpath("self", "stat").exists():
        found = {}
        for entry in _PROC.iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    # The name in parentheses may hold anything; the parent is the second field after it.
                    found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        return found
    return {int(pid): int(parent) for pid, parent in map(str.split, _ps("-ax", "-o", "pid=,ppid="))}


def _ps(*arguments: str) -> list[str]:
    listing = subprocess.run(["/bin/ps", *arguments], capture_output=True, text=True, check=True)
    return listing.stdout.splitlines()
