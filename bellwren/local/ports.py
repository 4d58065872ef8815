"""Which port the cloud listens on, and who listens there already."""

from __future__ import annotations

import http.client
import json
import shlex
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bellwren.local.errors import LocalCloudError
from bellwren.local.server import CHECKPOINT_PATH, IDENTITY_PATH
from bellwren.local.settings import DEFAULT_PORT, HOST

_TRIED_PORTS = 100
_ANSWER_S = 10.0
_CHECKPOINT_S = 60.0
_CLOSED_WITHIN_S = 10.0


def identity(port: int) -> dict[str, Any] | None:
    """Marker, pid and directory of the Bellwren local cloud that listens on ``port``; None when none does."""
    try:
        answer = _get(port, IDENTITY_PATH, _ANSWER_S)
    except (OSError, http.client.HTTPException, ValueError):
        return None
    ours = isinstance(answer, dict) and {"marker", "pid", "directory"} <= answer.keys()
    return answer if ours else None


def checkpoint(port: int) -> None:
    """Have the cloud write its state down.

    Raises:
        LocalCloudError: it did not answer.
    """
    try:
        _get(port, CHECKPOINT_PATH, _CHECKPOINT_S)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise LocalCloudError(
            f"the local cloud on port {port} did not write its state down: {error}"
        ) from error


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` of this machine's own address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def wait_until_free(port: int) -> None:
    """Wait for a killed server's port: the system closes it some time after the process is seen to have ended."""
    deadline = time.monotonic() + _CLOSED_WITHIN_S
    while not is_free(port) and time.monotonic() < deadline:
        time.sleep(0.02)


def choose(
    asked: int | None, remembered: int | None, place: Path, free: Callable[[int], bool] = is_free
) -> int:
    """The port to start on: the one asked for, else that of last time, else the first free one from 4566 on.

    Raises:
        LocalCloudError: the port that was asked for or remembered is taken, or none is free.
    """
    fixed = asked if asked is not None else remembered
    if fixed is not None:
        if not free(fixed):
            raise LocalCloudError(_taken(fixed, place))
        return fixed
    tried = range(DEFAULT_PORT, DEFAULT_PORT + _TRIED_PORTS)
    for port in tried:
        if free(port):
            return port
    raise LocalCloudError(f"no port from {tried[0]} to {tried[-1]} is free; name one with --port")


def _taken(port: int, place: Path) -> str:
    other = identity(port)
    if other is not None and Path(other["directory"]) != place:
        holder = f"the local cloud of {other['directory']} (pid {other['pid']})"
        way_out = f"stop that with `bellwren local stop --dir {shlex.quote(other['directory'])}`"
    else:
        holder = "another program"
        way_out = f"`lsof -i :{port}` names it; end it"
    return f"port {port} is in use by {holder}; {way_out}, or choose another port with --port"


def _get(port: int, path: str, timeout_s: float) -> Any:
    # Not urllib: that would ask a proxy of the environment for an address of this machine.
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"status {answer.status}")
        return json.loads(body)
    finally:
        connection.close()
