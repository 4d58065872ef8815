"""The runners of one invocation, as the supervisor sees them: start, feed, watch, replace."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from dataclasses import dataclass, field
from typing import Any

from bellwren.engine import wire
from bellwren.engine.log import Log
from bellwren.engine.nursery import Progress, describe_exit
from bellwren.engine.wire import Kind
from bellwren.errors import InputError

_LAST_WORDS_S = 0.1
"""How long what a dead runner had sent may take to arrive, if a child of it keeps the line open."""
_SILENCE_S = 0.5
"""How long after the end of its line a runner may take to end."""


class Refused(Exception):
    """The job's code or input can't be had. Every task would fail alike, so the job ends."""

    def __init__(self, failure: dict[str, Any]) -> None:
        self.failure = failure
        super().__init__(f"{failure.get('type')}: {failure.get('message')}")

    @staticmethod
    def input(error: InputError) -> Refused:
        """The job's input is not what it was when the job was planned."""
        return Refused({"type": "InputError", "message": str(error)})


class LoadingLost(Refused):
    """The runner died while it loaded the job's code, which may have been by chance."""


@dataclass
class Runner:
    """One live runner process and its channel."""

    slot: int
    pid: int
    line: socket.socket
    log_fd: int
    log: Log = field(default_factory=Log)
    killed_for: str = ""
    """Why the supervisor killed it: ``timeout``, ``deadline``, ``outrun`` or ``silent``; empty if it died by itself."""
    gone: bool = False
    """Whether the process has ended and was waited for: its number may be another's by now."""

    def drain_log(self) -> None:
        """Take what the runner has printed so far."""
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(self.log_fd, 1 << 16):
                self.log.write(data)

    def hang_up(self) -> None:
        """Expect nothing further from it."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)

    def kill(self, why: str) -> None:
        """End the runner and everything in its process group."""
        self.killed_for = self.killed_for or why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if not self.gone:
            # User code may have put itself into another group.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Ended(Exception):
    """The supervisor itself ended the runner, since its time was up or its task is done elsewhere."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        super().__init__(runner.killed_for)


class Crew:
    """Asks the nursery for runners and learns from it how they ended."""

    def __init__(
        self,
        control: socket.socket,
        progress: Progress,
        memory_bytes: int | None,
        results_bytes: int | None = None,
    ) -> None:
        """A runner may take ``memory_bytes``, and results of one task ``results_bytes``."""
        self.progress = progress
        self.results_bytes = results_bytes
        self._control = control
        self._memory_bytes = memory_bytes
        self._spawned: dict[int, asyncio.Future[tuple[int, list[int]]]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self.runners: dict[int, Runner] = {}
        control.setblocking(False)
        asyncio.get_running_loop().add_reader(control, self._hear)

    async def start(self, slot: int, setup: dict[str, Any], code: bytes) -> Runner:
        """Start a fresh runner in a slot and load the job's code into it.

        Raises:
            Refused: if the code can't be loaded.
            LoadingLost: if the runner died over it.
            Ended: if the supervisor ended it meanwhile.
        """
        loop = asyncio.get_running_loop()
        spawned = self._spawned[slot] = loop.create_future()
        self._say({"spawn": slot, "memory_bytes": self._memory_bytes})
        pid, (data_fd, log_fd) = await spawned
        line = socket.socket(fileno=data_fd)
        line.setblocking(False)
        os.set_blocking(log_fd, False)
        runner = Runner(slot, pid, line, log_fd)
        loop.add_reader(log_fd, self._read_log, runner)
        self.runners[slot] = runner
        try:
            await wire.write(line, Kind.SETUP, {**setup, "slot": slot}, code)
            kind, head, _ = await wire.read(line)
        except (wire.Closed, ConnectionError) as error:
            status = await self.ended(runner)
            if runner.killed_for in ("deadline", "outrun"):
                raise Ended(runner) from error
            how = describe_exit(status)
            raise LoadingLost(
                {"type": "WorkerDied", "message": f"the runner {how} while it loaded the code"}
            ) from error
        if kind is Kind.REFUSED:
            raise Refused(head)
        return runner

    async def ended(self, runner: Runner) -> int:
        """Wait until a runner whose line has ended is gone, clean up after it and return its wait status."""
        gone = self._exit_of(runner.pid)
        try:
            status = await asyncio.wait_for(asyncio.shield(gone), _SILENCE_S)
        except TimeoutError:
            # It closed the line and lives on: of no more use.
            runner.kill("silent")
            status = await gone
        loop = asyncio.get_running_loop()
        loop.remove_reader(runner.log_fd)
        runner.drain_log()
        with contextlib.suppress(OSError):
            os.close(runner.log_fd)
        runner.log_fd = -1
        runner.line.close()
        if self.runners.get(runner.slot) is runner:
            del self.runners[runner.slot]
        return status

    def kill(self, slot: int, why: str) -> None:
        """End the runner of a slot, if there is one."""
        if slot in self.runners:
            self.runners[slot].kill(why)

    def kill_all(self, why: str) -> None:
        """End every runner."""
        for runner in list(self.runners.values()):
            runner.kill(why)

    def answer(self, result: dict[str, Any]) -> None:
        """Hand the nursery what the handler returns."""
        self._say({"result": result})

    def _say(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())

    def _exit_of(self, pid: int) -> asyncio.Future[int]:
        return self._exits.setdefault(pid, asyncio.get_running_loop().create_future())

    def _hear(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 2)
        except BlockingIOError:
            return
        if not data:
            return
        message = json.loads(data)
        if "spawned" in message:
            self._spawned.pop(message["slot"]).set_result((message["spawned"], list(fds)))
        else:
            future = self._exit_of(message["exited"])
            if not future.done():
                future.set_result(message["status"])
            for runner in self.runners.values():
                if runner.pid == message["exited"]:
                    runner.gone = True
                    runner.kill("")
                    # A child that it forked may still hold its end of the line.
                    asyncio.get_running_loop().call_later(_LAST_WORDS_S, runner.hang_up)

    @staticmethod
    def _read_log(runner: Runner) -> None:
        try:
            data = os.read(runner.log_fd, 1 << 16)
        except BlockingIOError:
            return
        if data:
            runner.log.write(data)
        else:
            asyncio.get_running_loop().remove_reader(runner.log_fd)
