"""A slow item delays no other: what waits behind it is offered to whoever is idle.

It waits in two places: the rest of the slow item's own task, and tasks that its worker has claimed ahead. Nothing is
offered while unclaimed tasks are left, since then nobody is idle; so in the bulk of a job this costs nothing.
"""

from __future__ import annotations

import asyncio
import time

from bellwren.engine.attempt import Work
from bellwren.engine.claims import Claims
from bellwren.engine.io import Pool
from bellwren.engine.nursery import Progress
from bellwren.engine.stage import Stage

SLOW_S = 0.5
_LOOK_S = 0.1


class Sharing:
    """Watches the slots of one worker."""

    def __init__(self, io: Pool, claims: Claims, stage: Stage, progress: Progress) -> None:
        self._io = io
        self._claims = claims
        self._stage = stage
        self._progress = progress
        self._offered: set[tuple[int, int]] = set()
        self.running: dict[int, Work] = {}
        """What is at work, by slot."""
        self.queue: asyncio.Queue[Work | None] = asyncio.Queue(maxsize=1)
        """What was claimed ahead."""

    async def watch(self, slots: int) -> None:
        """Offer what waits whenever every slot has been at one item for long."""
        pause = SLOW_S
        while True:
            await asyncio.sleep(_LOOK_S)
            stuck = self._stuck()
            if len(stuck) < slots:
                pause = SLOW_S
                continue
            waiting = [(slot, work) for slot, work in stuck.items() if self._has_rest(slot, work)]
            if not waiting and self.queue.empty():
                continue
            board = await self._io.call(self._claims.board)
            if len(board.taken) < self._stage.tasks:
                await asyncio.sleep(pause)
                pause *= 2
                continue
            await self._offer_queue()
            for slot, work in waiting:
                await self._offer_rest(slot, work)

    def _stuck(self) -> dict[int, Work]:
        now = time.monotonic()
        found = {}
        for slot, work in self.running.items():
            position, since = self._progress.get(slot)
            if position >= 0 and now - since > SLOW_S:
                found[slot] = work
        return found

    def _has_rest(self, slot: int, work: Work) -> bool:
        """Whether something waits behind the item. A task that gives one object of its own making can't be shared."""
        position, _ = self._progress.get(slot)
        if not self._stage.shareable or (work.task, position + 1) in self._offered:
            return False
        count: int | None = work.head.get("count")
        return count is None or position + 1 < count

    async def _offer_rest(self, slot: int, work: Work) -> None:
        position, _ = self._progress.get(slot)
        if self.running.get(slot) is not work or position < 0:
            return
        # Asked first: the runner must not run on into what others may take.
        self._progress.ask_pause(slot)
        self._offered.add((work.task, position + 1))
        if self._progress.get(slot)[0] == position:
            await self._io.call(self._claims.offer, work.task, position + 1)

    async def _offer_queue(self) -> None:
        while not self.queue.empty():
            work = self.queue.get_nowait()
            if work is None:
                self.queue.put_nowait(None)
                return
            await self._io.call(self._claims.offer, work.task, work.start)
            # Whoever was waiting to put the next one in has its turn now.
            await asyncio.sleep(0)
