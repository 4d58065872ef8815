"""A slow item delays no other: what waits behind it is offered to whoever is idle.

It waits in two places: the rest of the slow item's own task, and tasks that its worker has claimed ahead. Nothing is
offered while unclaimed tasks are left, since then nobody is idle; so in the bulk of a job this costs nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from bellwren.engine.attempt import Work
from bellwren.engine.claims import Claims
from bellwren.engine.io import Pool
from bellwren.engine.nursery import Progress
from bellwren.engine.stage import Stage

SLOW_S = 0.5
_LOOK_S = 0.1
_SHORTEST_S, _LONGEST_S = 0.2, 1.5
"""Idle workers wait for two seconds (`idle`): whoever looks more seldom offers to those who have left."""


class Sharing:
    """Watches the slots of one worker."""

    def __init__(
        self,
        io: Pool,
        claims: Claims,
        stage: Stage,
        progress: Progress,
        *,
        workers: int,
        pace_s: Callable[[], float],
    ) -> None:
        """``pace_s`` says what a task takes as a rule, 0 if nothing is known yet."""
        self._io = io
        self._claims = claims
        self._stage = stage
        self._progress = progress
        self._workers = workers
        self._pace_s = pace_s
        self._offered: set[tuple[int, int]] = set()
        self.running: dict[int, Work] = {}
        """What is at work, by slot."""
        self.queue: asyncio.Queue[Work | None] = asyncio.Queue(maxsize=1)
        """What was claimed ahead."""
        self.changed = asyncio.Event()
        """Set when a task ends or something is offered."""
        self.offering = False
        """Whether something is on its way from here to the others: neither here nor there for the moment."""

    @property
    def has_offered(self) -> bool:
        """Whether anything was offered so far."""
        return bool(self._offered)

    async def watch(self, slots: int) -> None:
        """Offer what waits whenever every slot has been at one item for long."""
        if self._workers == slots == 1:
            return  # there is nobody to take it
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
            if unclaimed := await self._io.call(self._claims.unclaimed):
                pause = look_again_s(unclaimed, self._workers, self._pace_s(), pause)
                await asyncio.sleep(pause)
                continue
            self.offering = True
            await self._offer_queue()
            for slot, work in waiting:
                await self._offer_rest(slot, work)
            self.offering = False
            self.changed.set()

    async def settled(self) -> None:
        """Wait until nothing is at work or waiting here any more, or something was offered."""
        while not self.has_offered and (self.running or not self.queue.empty()):
            self.changed.clear()
            await self.changed.wait()

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
        return self._stage.shareable and bool(splits(position, work.stops, work.head.get("count")))

    async def _offer_rest(self, slot: int, work: Work) -> None:
        position, _ = self._progress.get(slot)
        starts = splits(position, work.stops, work.head.get("count"))
        if self.running.get(slot) is not work or position < 0:
            return
        # Asked first: the runner must not run on into what others may take.
        self._progress.ask_pause(slot)
        work.stops += starts
        if self._progress.get(slot)[0] != position:
            # It was quicker, and pauses where nothing was offered yet; what lies further on it has not reached.
            starts = starts[1:]
        for start in starts:
            self._offered.add((work.task, start))
            await self._io.call(self._claims.offer, work.task, start)

    async def _offer_queue(self) -> None:
        while not self.queue.empty():
            work = self.queue.get_nowait()
            if work is None or work.how == "share" or work.look_up:
                # What was taken over from another is on its way to a free slot, and nobody else could claim it. What
                # has cost a worker needs the care that it gets here.
                self.queue.put_nowait(work)
                return
            self._offered.add((work.task, work.start))
            await self._io.call(self._claims.offer, work.task, work.start)
            # Whoever was waiting to put the next one in has its turn now.
            await asyncio.sleep(0)


def look_again_s(unclaimed: int, workers: int, pace_s: float, last_s: float) -> float:
    """How long until it is worth asking again whether everything is claimed: half of what that takes at this pace."""
    expected = unclaimed / workers * pace_s / 2 if pace_s else min(1.0, 2 * last_s)
    return min(_LONGEST_S, max(_SHORTEST_S, expected))


def splits(position: int, stops: list[int], count: int | None) -> list[int]:
    """Where to cut what waits behind ``position``: right behind it, and in the middle of the rest if its end is known.

    Two halves, because others take a moment to come: if the item ends before that, its owner goes on with the first
    half and the second is still to be had.
    """
    known = [stop for stop in stops if stop > position]
    end = min(known, default=count)
    if end is None:
        return [position + 1]
    rest = end - position - 1
    if rest <= 0:
        return []
    return [position + 1] if rest == 1 else [position + 1, position + 1 + (rest + 1) // 2]
