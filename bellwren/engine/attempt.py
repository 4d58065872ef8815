"""Carry one task through as many runners as it takes, and say what became of each item.

A runner streams the results of a task in order, so a runner's death costs at most the item it was at: what had arrived
stays, and the shared progress page names the culprit. The next runner goes on behind what had arrived; an item that
has lost more runners than ``retries`` allows stands as a failure in its place.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bellwren.engine import wire
from bellwren.engine.crew import Crew, Ended, Refused, Runner
from bellwren.engine.nursery import describe_exit
from bellwren.engine.progressed import Progressed
from bellwren.engine.stage import Stage
from bellwren.engine.trail import Trail
from bellwren.engine.wire import Kind
from bellwren.errors import InputError

OUT_OF_MEMORY_EXIT = 77
"""Exit code by which a runner says that an allocation failed under its memory limit."""
LINE_CLOSED_EXIT = 78
"""Exit code by which a runner says that it can't talk to its supervisor any more."""
_WATCH_S = 0.05


class OutOfTime(Exception):
    """The worker's own time is up; what the task has so far is kept for the next round."""

    def __init__(self, position: int, ran_s: float) -> None:
        self.position = position
        """The position that was cut off; -1 if it was none."""
        self.ran_s = ran_s
        """How long it had run by then."""
        super().__init__(f"the worker's time was up at position {position}")


Pull = Callable[[int], Awaitable[bytes]]
"""Gives the next bytes of a segment; empty at its end."""


class Outrun(Exception):
    """Somebody else has committed the task meanwhile."""


@dataclass
class Work:
    """A claimed task with its input at hand."""

    task: int
    head: dict[str, Any]
    """What the runner must know of the task: kind of input, codec, sizes."""
    body: list[bytes] = field(default_factory=list)
    open: Callable[[], Pull] | None = None
    """Starts reading what is too large to send at once. Each runner that takes the task up reads from the start."""
    ask: Callable[[dict[str, Any]], Awaitable[list[bytes]]] | None = None
    """Fetches the ranges of bytes that the runner asks for, which it alone can tell."""
    serve: Callable[[dict[str, Any], memoryview], Awaitable[tuple[dict[str, Any], bytes]]] | None = None
    """Does in storage what a function asks for while it runs."""
    bytes_in: int = 0
    fetch_s: float = 0.0
    how: str = ""
    """How it came here: ``home``, ``steal``, ``retake``, ``backup`` or ``share``."""
    start: int = 0
    """The first position that is to be run here."""
    stops: list[int] = field(default_factory=list)
    """Positions from which on the task has been offered to others: to be claimed before they are run here."""
    look_up: bool = False
    """Whether something of it may be in storage already: it was begun before."""


class Attempt:
    """One task on one slot of the crew."""

    def __init__(
        self, crew: Crew, stage: Stage, start: Callable[[int], Awaitable[Runner]], trail: Trail
    ) -> None:
        self._crew = crew
        self._stage = stage
        self._start = start
        self._trail = trail
        self._losses: dict[int, int] = {}
        self._skip = trail.verdicts()

    async def run(self, slot: int, work: Work, done: Progressed, stop: int | None = None) -> bool:
        """Run the task, adding to ``done``, to its end or to position ``stop``; returns whether it paused before its
        end.

        Raises:
            OutOfTime: if the worker's deadline came first.
            Outrun: if somebody else was first.
        """
        while True:
            runner = await self._at_hand(slot) or await self._fresh(slot)
            began = time.monotonic()
            try:
                return await self._dispatch(runner, work, done, stop)
            except wire.Closed:
                status = await self._crew.ended(runner)
                self._stop_if_ended(runner)
                done.lost_runners += 1
                self._blame(runner, status, done)
            finally:
                runner.drain_log()
                done.log.write(runner.log.take())
                done.compute_s += time.monotonic() - began

    async def _at_hand(self, slot: int) -> Runner | None:
        """The runner that has done the slot's last task, unless it was ended when that was done."""
        runner = self._crew.runners.get(slot)
        if runner is not None and runner.killed_for == "outrun":
            await self._crew.ended(runner)
            return None
        return runner

    async def _fresh(self, slot: int) -> Runner:
        try:
            return await self._start(slot)
        except Ended as ended:
            self._stop_if_ended(ended.runner)
            raise

    def _stop_if_ended(self, runner: Runner) -> None:
        """Leave the task if it was the supervisor who ended its runner."""
        if runner.killed_for == "outrun":
            raise Outrun
        if runner.killed_for == "deadline":
            position, since = self._crew.progress.get(runner.slot)
            raise OutOfTime(position, time.monotonic() - since)

    async def _dispatch(self, runner: Runner, work: Work, done: Progressed, stop: int | None) -> bool:
        watcher = asyncio.create_task(self._watch(runner)) if self._stage.item_timeout_s else None
        head, body = self._message(work, done, stop)
        pull = work.open() if work.open else None
        try:
            await wire.write(runner.line, Kind.TASK, head, *body)
            while True:
                kind, answer, data = await wire.read(runner.line)
                if kind in (Kind.NEED, Kind.ASK):
                    reply, parts = await _served(work, pull, kind, answer, data)
                    await wire.write(runner.line, Kind.BLOCK, reply, *parts)
                elif kind is Kind.STEP:
                    ask_at = await self._trail.step(answer["position"])
                    await wire.write(runner.line, Kind.GO, {"ask_at": ask_at})
                elif kind is Kind.REFUSED:
                    raise Refused(answer)
                else:
                    self._collect(answer, data, done)
                    self._refuse_too_much(work, done)
                    if kind is Kind.DONE:
                        return "paused" in answer
        except ConnectionError as error:
            raise wire.Closed from error
        finally:
            if watcher:
                watcher.cancel()

    def _message(
        self, work: Work, done: Progressed, stop: int | None
    ) -> tuple[dict[str, Any], Sequence[bytes | memoryview]]:
        """What the runner is told of the task, with what there is of it already."""
        head = {**work.head, "task": work.task, "start": done.consumed, "stop": stop, "skip": self._skip}
        if self._trail.careful:
            head["ask_at"] = done.consumed
        if done.shuffled is None:
            return head, work.body
        return {**head, "base": len(done.shuffled)}, [*work.body, done.shuffled]

    def _collect(self, answer: dict[str, Any], body: memoryview, done: Progressed) -> None:
        if answer.get("shuffled"):
            done.shuffled = body
        elif len(body):
            done.parts.append(body)
        done.consumed += answer.get("consumed", 0)
        done.count += answer.get("count", 0)
        done.add_failures(answer.get("failures", ()))
        done.peak_mb = max(done.peak_mb, answer.get("peak_mb", 0))

    def _refuse_too_much(self, work: Work, done: Progressed) -> None:
        """End the job by its right name where a task's results do not fit into the worker.

        Raises:
            Refused: if that is so.
        """
        most = self._crew.results_bytes
        if most is None or done.size <= most:
            return
        first = work.head.get("first", 0) + done.start
        message = (
            f"the results of items {first} to {first + done.consumed - done.start - 1} (task {work.task}) take "
            f"{done.size >> 20:,} MB, and a worker of this memory size holds {most >> 20:,} MB of one task's: return "
            f"less, write what is large to S3 and return where it is, raise memory_mb, or cut the input finer"
        )
        raise Refused({"type": "OutOfMemory", "message": message})

    def _blame(self, runner: Runner, status: int, done: Progressed) -> None:
        """Charge the loss of a runner to the item it was at."""
        position, _ = self._crew.progress.get(runner.slot)
        position = max(position, done.consumed)
        self._losses[position] = self._losses.get(position, 0) + 1
        if self._losses[position] > self._stage.retries:
            self._skip[position] = self._verdict(runner, status, self._losses[position])

    def _verdict(self, runner: Runner, status: int, tries: int) -> dict[str, Any]:
        tried = f" ({tries} tries)" if tries > 1 else ""
        if runner.killed_for == "timeout":
            limit = self._stage.item_timeout_s
            return {
                "type": "TimedOut",
                "message": f"the item ran longer than item_timeout_s={limit:g}{tried}",
            }
        if status == OUT_OF_MEMORY_EXIT << 8:
            return {
                "type": "OutOfMemory",
                "message": f"the item needed more memory than its runner has{tried}; raise memory_mb",
            }
        silenced = runner.killed_for == "silent" and status == signal.SIGKILL
        if silenced or status == LINE_CLOSED_EXIT << 8:
            message = f"the item closed the descriptors by which its runner is led{tried}"
            return {"type": "WorkerDied", "message": message}
        hint = "; the kernel does that when memory runs out" if status == signal.SIGKILL else ""
        return {"type": "WorkerDied", "message": f"the runner {describe_exit(status)}{hint}{tried}"}

    async def _watch(self, runner: Runner) -> None:
        limit = self._stage.item_timeout_s or 0.0
        while True:
            position, since = self._crew.progress.get(runner.slot)
            left = since + limit - time.monotonic() if position >= 0 else limit
            if left <= 0:
                runner.kill("timeout")
                return
            await asyncio.sleep(max(min(left, 1.0), _WATCH_S) if left > _WATCH_S else _WATCH_S)


async def _served(
    work: Work, pull: Pull | None, kind: Kind, wanted: dict[str, Any], data: memoryview
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """What a runner asks its supervisor to fetch or to do.

    Raises:
        Refused: if the input has changed meanwhile.
    """
    try:
        if kind is Kind.ASK and work.serve:
            reply, found = await work.serve(wanted, data)
            return reply, [found]
        if work.ask:
            parts = await work.ask(wanted)
            return {"sizes": list(map(len, parts))}, parts
        if pull:
            return {}, [await pull(wanted["segment"])]
    except InputError as error:
        raise Refused.input(error) from error
    raise wire.Closed  # nothing of ours asks for what the task does not have: user code wrote to the line
