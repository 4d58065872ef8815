"""The life of a runner: load the job's code once, then run tasks until the supervisor hangs up.

It has no credentials to use and makes no request: bytes come in, bytes go out. Whatever user code does to this process
ends with it; the supervisor sees how, and on which item.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from bellwren.engine import operations, wire
from bellwren.engine.attempt import LINE_CLOSED_EXIT, OUT_OF_MEMORY_EXIT
from bellwren.engine.calls import describe
from bellwren.engine.channel import Channel, Paused
from bellwren.engine.loading import load
from bellwren.engine.nursery import Progress
from bellwren.engine.stage import Stage
from bellwren.engine.wire import Kind
from bellwren.errors import InputError
from bellwren.payload import seeding


def live(sock: socket.socket, progress: Progress, slot: int, log_fd: int) -> None:
    """The runner process: its whole life, from fork to exit."""
    seeding.install()
    _, setup, code = wire.receive(sock)
    stage = Stage.from_dict(setup["stage"])
    os.environ.update(stage.env)
    if setup["packages"]:
        sys.path.insert(0, setup["packages"])
    try:
        functions = load(stage, _cut(code, setup["code"]))
    except BaseException as error:  # noqa: BLE001  user code runs at import, and SystemExit must not pass for success
        wire.send(sock, Kind.REFUSED, describe(error).as_dict())
        return
    wire.send(sock, Kind.READY)
    operation = operations.operation_of(stage)
    channel = Channel(sock, progress, slot, log_fd)
    while True:
        try:
            _, head, body = wire.receive(sock)
        except wire.Closed:
            return
        channel.begin(head)
        task = operations.Task(setup["job_id"], stage, head, body, channel.pull)
        try:
            operation(task, functions, channel)
        except Paused as paused:
            channel.done({"paused": paused.position})
        except InputError as error:
            wire.send(sock, Kind.REFUSED, describe(error).as_dict())
            return
        except MemoryError:
            # There may be too little even for telling what is done; it is done again then.
            with contextlib.suppress(MemoryError):
                channel.flush()
            os._exit(OUT_OF_MEMORY_EXIT)
        except OSError:
            # User code's own errors are its items' failures and do not come here.
            os._exit(LINE_CLOSED_EXIT)
        del task, body  # or they would stay beside those of the next task while these arrive


def _cut(code: memoryview, sizes: list[tuple[str, int]]) -> dict[str, memoryview]:
    objects = {}
    for sha256, size in sizes:
        objects[sha256], code = code[:size], code[size:]
    return objects
