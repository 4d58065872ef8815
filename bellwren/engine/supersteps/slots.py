"""The runners of one worker, and orders to them: one at a time for each, lost ones told from those that answer."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bellwren.engine import wire
from bellwren.engine.attempt import OUT_OF_MEMORY_EXIT
from bellwren.engine.crew import Crew, Refused, Runner
from bellwren.engine.log import Log
from bellwren.engine.nursery import describe_exit
from bellwren.engine.wire import Kind

_WATCH_S = 0.05


class RunnerLost(Exception):
    """A runner died over an order."""

    def __init__(self, position: int, kind: str, message: str, *, ours: bool) -> None:
        self.position = position
        """The partition that it was at; -1 if it was at none."""
        self.kind = kind
        """``WorkerDied``, ``OutOfMemory`` or ``TimedOut``."""
        self.message = message
        self.ours = ours
        """Whether it was ended on purpose, because the worker's time is up."""
        super().__init__(message)


@dataclass
class Slot:
    """One runner's place: whoever holds the lock may give it orders."""

    number: int
    crew: Crew
    start: Callable[[int], Awaitable[Runner]]
    timeout_s: float | None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def runner(self) -> Runner:
        """The runner that is here, or a fresh one."""
        return self.crew.runners.get(self.number) or await self.start(self.number)

    async def order(
        self, runner: Runner, head: dict[str, Any], body: list[bytes], log: Log
    ) -> tuple[dict[str, Any], memoryview]:
        """Give an order and wait for its answer.

        Raises:
            RunnerLost: if the runner died.
            Refused: if it could not read its input.
        """
        watcher = asyncio.create_task(self._watch(runner)) if self.timeout_s else None
        try:
            await wire.write(runner.line, Kind.TASK, {"start": 0, "skip": {}, **head}, *body)
            kind, answer, data = await wire.read(runner.line)
        except (ConnectionError, wire.Closed) as error:
            position, _ = self.crew.progress.get(self.number)
            status = await self.crew.ended(runner)
            raise self._lost(runner, status, position) from error
        else:
            if kind is Kind.REFUSED:
                raise Refused(answer)
            return answer, data
        finally:
            if watcher:
                watcher.cancel()
            runner.drain_log()
            log.write(runner.log.take())

    def _lost(self, runner: Runner, status: int, position: int) -> RunnerLost:
        kind, message = "WorkerDied", f"the runner {describe_exit(status)}"
        if runner.killed_for == "timeout":
            kind, message = "TimedOut", f"the step ran longer than item_timeout_s={self.timeout_s:g}"
        elif status == OUT_OF_MEMORY_EXIT << 8:
            kind = "OutOfMemory"
            message = (
                "the step needed more memory than its runner has; raise memory_mb, or use more partitions"
            )
        elif status == signal.SIGKILL:
            message += "; the kernel does that when memory runs out"
        return RunnerLost(position, kind, message, ours=runner.killed_for in ("deadline", "end"))

    async def _watch(self, runner: Runner) -> None:
        limit = self.timeout_s or 0.0
        while True:
            position, since = self.crew.progress.get(runner.slot)
            left = since + limit - time.monotonic() if position >= 0 else limit
            if left <= 0:
                runner.kill("timeout")
                return
            await asyncio.sleep(max(min(left, 1.0), _WATCH_S))
