"""The life of one group of partitions on its worker: restore, then step, commit and meet, superstep by superstep.

A group starts from its last checkpoint, or from the job's input, and runs the same loop whether a superstep is new or
done again after a loss: what it sent the first time is there, complete, and stays as it is.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from bellwren import layout
from bellwren.engine.commit import ITEMS, output_bucket, output_key
from bellwren.engine.crew import Refused
from bellwren.engine.io import Pool
from bellwren.engine.log import Log
from bellwren.engine.sources import Source
from bellwren.engine.stage import Stage
from bellwren.engine.supersteps import placing
from bellwren.engine.supersteps.board import Board
from bellwren.engine.supersteps.history import History
from bellwren.engine.supersteps.objects import Superstep, encode, fetch
from bellwren.engine.supersteps.rules import Verdict, checkpoint_due, verdict
from bellwren.engine.supersteps.saving import Saver
from bellwren.engine.supersteps.slots import RunnerLost, Slot
from bellwren.errors import TaskFailure
from bellwren.parts import whole_part


@dataclass
class Facts:
    """What the worker's report says of a group."""

    fetch_s: float = 0.0
    compute_s: float = 0.0
    commit_s: float = 0.0
    bytes_in: int = 0
    lost_runners: int = 0
    began: float = field(default_factory=time.time)
    outcome: str = "partial"
    failures: list[dict[str, Any]] = field(default_factory=list)


class Group:
    """One group, from its start on this worker to the job's end or the worker's."""

    def __init__(
        self,
        number: int,
        *,
        job_id: str,
        stage: Stage,
        io: Pool,
        slot: Slot,
        board: Board,
        source: Source,
        history: History | None,
        left: asyncio.Event,
    ) -> None:
        self.number = number
        self._job_id = job_id
        self._stage = stage
        self._io = io
        self._slot = slot
        self._board = board
        self._source = source
        self._history = history
        self._left = left
        self._saver = Saver(io, job_id, number, stage.tasks)
        self._members = placing.members(number, stage.tasks, stage.supersteps["partitions"])
        self._held_by = -1
        self._next = 0
        self._losses: dict[int, int] = {}
        self._stepped = False
        self._given_up = False
        self._failed = False
        """Whether the last step did: its states are not to be gone on from."""
        self.log = Log()
        self.facts = Facts()

    async def live(self) -> None:
        """Run until the job ends, or this worker is to leave."""
        if await self._io.exists(*self._part):
            self.facts.outcome = "lost"
            return
        while not await self._advance():
            pass
        await self._saver.settle()

    async def _advance(self) -> bool:
        """One superstep, or what it takes to get there; True at the end."""
        if self._left.is_set() or (self._stepped and not self._stage.supersteps["resident"]):
            await self._save_and_leave()
            return True
        try:
            if not self._given_up:
                async with self._slot.lock:
                    await self._hold()
            before = await self._meet()
            if before is not None:
                limit = self._stage.supersteps["max_supersteps"]
                done = verdict((one.header for one in before.groups), self._next - 1, limit)
                if done != "go":
                    await self._end(done, before)
                    return True
            if not await self._has_failed():
                async with self._slot.lock:
                    if not await self._hold():
                        await self._step(before)
        except RunnerLost as lost:
            if lost.ours:
                return True
            await self._blame(lost)
        except Leaving:
            await self._save_and_leave()
            return True
        return False

    async def _hold(self) -> bool:
        """See to it that the slot's runner holds the states; whether they had to be loaded."""
        runner = await self._slot.runner()
        if runner.pid == self._held_by:
            return False
        began = time.monotonic()
        found = await self._saver.latest()
        if found is None:
            work = await self._source.load(self.number)
            head, body = work.head, work.body
            self.facts.bytes_in += work.bytes_in
        else:
            head, body = {"kind": "checkpoint", "checkpoint": True}, [found.states]
            if self._history is not None and "history" in found.note:
                self._history.restore(found.note["history"])
        self.facts.fetch_s += time.monotonic() - began
        await self._slot.order(runner, {**head, "do": "load", "task": self.number}, body, self.log)
        self._next = found.superstep + 1 if found else 0
        self._held_by = runner.pid
        self._board.expect(self.number, self._next)
        return True

    async def _meet(self) -> Superstep | None:
        """The superstep before; None at the first.

        Raises:
            Leaving: if the worker is to leave and the superstep is not complete.
        """
        if self._next == 0:
            return None
        complete = self._board.complete(self._next - 1)
        if not complete.done():
            leaving = asyncio.create_task(self._left.wait())
            await asyncio.wait({complete, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
        if not complete.done():
            raise Leaving
        return complete.result()

    async def _step(self, before: Superstep | None) -> None:
        superstep = self._next
        sections, partials = await self._inputs(before)
        save = not self._stage.supersteps["resident"] or checkpoint_due(
            self._saver.since_s, self._saver.cost_s
        )
        head = {
            "do": "step",
            "task": self.number,
            "superstep": superstep,
            "sections": [len(one) for one in sections],
            "partials": [len(one) for one in partials],
            "save": save,
        }
        runner = await self._slot.runner()
        answer, body = await self._slot.order(runner, head, [*sections, *partials], self.log)
        self.facts.compute_s += answer["compute_s"]
        size = sum(answer["sizes"]) + answer["partials"]
        await self._commit(superstep, encode(answer, body[:size]))
        if self._history is not None:
            self._history.stepped(superstep, before, answer["aggregated"])
        self._failed = bool(answer["failures"])
        if save and not self._failed:
            self._save(superstep, bytes(body[size:]), answer["save_s"])
        self._next = superstep + 1
        self._stepped = True

    async def _inputs(self, before: Superstep | None) -> tuple[list[bytes], list[bytes]]:
        if before is None:
            return [], []
        sections = await asyncio.gather(*(one.section(self.number) for one in before.groups))
        return sections, await asyncio.gather(*(one.partials() for one in before.groups))

    async def _has_failed(self) -> bool:
        """Whether the step that comes next has failed in an earlier round; then there is nothing to do but to meet.

        A worker that is relaunched for each superstep leaves before it meets the others.
        """
        if self._stage.supersteps["resident"] or self._given_up:
            return False
        sent = await fetch(self._io, self._sent_key(self._next), 0)
        if sent is None or not sent.header["failures"]:
            return False
        self._given_up = True
        self._next += 1
        self._board.expect(self.number, self._next)
        return True

    def _sent_key(self, superstep: int) -> str:
        return layout.sent(self._job_id, superstep, self.number)

    async def _commit(self, superstep: int, data: bytes) -> None:
        began = time.monotonic()
        await self._board.put_up(superstep, self.number, data)
        self.facts.commit_s += time.monotonic() - began

    def _save(self, superstep: int, states: bytes, took_s: float) -> None:
        unstored = self._board.unstored(superstep, self.number)
        self._saver.save(superstep, states, took_s, self._history, unstored)

    async def _blame(self, lost: RunnerLost) -> None:
        """Charge the loss of a runner to the superstep; after too many, that is a failure of the partition."""
        self.facts.lost_runners += 1
        self._held_by = -1
        superstep = self._next
        self._losses[superstep] = self._losses.get(superstep, 0) + 1
        if self._losses[superstep] <= self._stage.retries:
            return
        index = lost.position if lost.position in self._members else self._members.start
        failure = TaskFailure(
            index=index,
            type=lost.kind,
            message=f"{lost.message} ({self._losses[superstep]} tries)",
            item=f"partition {index} in superstep {superstep}",
        )
        answer = {
            "active": 0,
            "sent": 0,
            "failures": [failure.as_dict()],
            "to": [],
            "sizes": [],
            "partials": 0,
        }
        data = encode({**answer, "aggregated": {}, "compute_s": 0.0}, memoryview(b""))
        await self._commit(superstep, data)
        self._given_up = True
        self._next = superstep + 1
        if not (await self._board.complete(superstep)).groups[self.number].header["failures"]:
            # It had been done before, so others have gone on, and its state cannot be had again.
            raise Refused({"type": lost.kind, "message": f"{failure.item}: {failure.message}"})

    async def _save_and_leave(self) -> None:
        """Keep the states for whoever goes on, unless that would be no step forward."""
        if self._failed:
            # Not these states, but what the step told: the next round ends the job by that.
            if (told := self._board.unstored(self._next - 1, self.number)) is not None:
                await self._io.create(self._io.jobs.bucket, self._sent_key(self._next - 1), told)
            return
        if self._saver.saved >= self._next - 1 or self._held_by < 0:
            return
        try:
            async with self._slot.lock:
                runner = await self._slot.runner()
                if runner.pid != self._held_by:
                    return
                answer, body = await self._slot.order(
                    runner, {"do": "save", "task": self.number}, [], self.log
                )
        except RunnerLost:
            return
        if answer["failures"]:
            # The superstep counts already, and whoever came next would begin anew and get no further.
            first = answer["failures"][0]
            raise Refused({**first, "message": f"partition {first['index']}: {first['message']}"})
        self._save(self._next - 1, bytes(body), 0.0)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _end(self, done: Verdict, last: Superstep) -> None:
        if done == "failed":
            failures = [failure for one in last.groups for failure in one.header["failures"]]
            if self._history is not None:
                await self._history.end(done, self._next, last, {}, failures)
            self.facts.outcome = "failed" if last.groups[self.number].header["failures"] else "partial"
            return
        async with self._slot.lock:
            runner = await self._slot.runner()
            if runner.pid != self._held_by:
                raise RunnerLost(-1, "WorkerDied", "the runner died before the end", ours=False)
            partials = await asyncio.gather(*(one.partials() for one in last.groups))
            head = {"do": "result", "task": self.number, "partials": [len(one) for one in partials]}
            answer, body = await self._slot.order(runner, head, list(partials), self.log)
        if answer["unmerged"]:
            # In any superstep but the last it would have been found in the next.
            done = "failed"
        if self._history is not None:
            await self._history.end(done, self._next, last, answer["aggregated"], answer["unmerged"])
        if done == "failed":
            self.facts.outcome = "failed"
            return
        await self._put_part([bytes(body)], answer["count"], answer["failures"])

    async def _put_part(
        self, encoded: list[bytes | memoryview], count: int, failures: list[dict[str, Any]]
    ) -> None:
        assert self._stage.output is not None
        data = whole_part(self._stage.output.format, encoded, count)
        first = await self._io.create(*self._part, data, {ITEMS: str(count)})
        self.facts.outcome = "committed" if first else "lost"
        self.facts.failures = failures

    @property
    def _part(self) -> tuple[str, str]:
        bucket = output_bucket(self._stage, self._io.jobs.bucket)
        return bucket, output_key(self._job_id, self._stage, self.number)

    def report(self) -> dict[str, Any]:
        """The group as the worker's report tells of it."""
        facts = self.facts
        committed = facts.outcome == "committed"
        return {
            "task": self.number,
            "how": "home",
            "started_at": facts.began,
            "fetch_s": round(facts.fetch_s, 6),
            "compute_s": round(facts.compute_s, 6),
            "commit_s": round(facts.commit_s, 6),
            "bytes_in": facts.bytes_in,
            "items": len(self._members),
            "count": len(self._members),
            "failed": len(facts.failures),
            "lost_runners": facts.lost_runners,
            "outcome": facts.outcome,
            "failures": facts.failures if committed else [],
        }


class Leaving(Exception):
    """The worker is to leave while the group waits for others."""
