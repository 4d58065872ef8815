"""Find the item that takes its whole worker down.

An item can kill more than its own process: its parent, the supervisor, the environment as a whole. Step Functions
then starts the worker again, and the worker takes its claims back; without more it would die of the same item again and
again. So a task that is taken back is run *carefully*: before positions are tried, storage says which. Whoever comes
next reads there where the last one ended. A block of several positions is tried in smaller blocks the next time; a
single position that has cost as many workers as a job's ``retries`` allow is not tried again and stands as a failure.

The notes also remember items that were cut off at the end of their worker's time, since those need another limit: one
that did not end within a whole invocation, or was cut off twice, would never end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from bellwren import layout
from bellwren.engine.claims import Claims
from bellwren.engine.io import Pool

_QUICK_S = 0.05
_PARTS_OF_A_SUSPECT = 8
_BEAT_S = 0.5
_SILENCE_S = 1.5
_WHOLE = 0.8
CUT_OFTEN = 2


@dataclass
class Note:
    """What storage says about a dangerous task."""

    round: int
    start: int = -1
    stop: int = -1
    """Positions ``[start, stop)`` are being tried; -1 if none is."""
    suspect: tuple[int, int] | None = None
    """Positions among which the culprit is."""
    losses: dict[int, int] = field(default_factory=dict)
    """Workers that a position has cost."""
    cuts: dict[int, int] = field(default_factory=dict)
    """How often a position was cut off by the end of its worker; one whole invocation counts twice."""
    beat: int = 0
    """Goes up while whoever tries is alive."""

    def as_json(self) -> bytes:
        """The object that is written."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Note:
        """Read back what ``as_json`` wrote."""
        document = json.loads(data)
        for name in ("losses", "cuts"):
            document[name] = {int(position): count for position, count in document[name].items()}
        if document["suspect"]:
            document["suspect"] = tuple(document["suspect"])
        return Note(**document)

    def findings(self) -> tuple[Any, ...]:
        """What was learned about the task; without the marks of whoever is at it."""
        return self.suspect, sorted(self.losses.items()), sorted(self.cuts.items())

    def judge(self) -> None:
        """Draw the conclusion from the death of whoever wrote this."""
        if self.start < 0:
            return
        if self.stop - self.start == 1:
            self.losses[self.start] = self.losses.get(self.start, 0) + 1
        # Also a single one: it is tried by itself again, not searched for again.
        self.suspect = (self.start, self.stop)
        self.start = self.stop = -1


def block_width(position: int, last_width: int, took_s: float, suspect: tuple[int, int] | None) -> int:
    """How many positions to try at once: more while all goes quickly, few where the culprit must be."""
    if suspect and suspect[0] <= position < suspect[1]:
        width = max(1, (suspect[1] - suspect[0]) // _PARTS_OF_A_SUSPECT)
        return min(width, suspect[1] - position)
    width = max(1, last_width * 2 if took_s < _QUICK_S else last_width // 2)
    return min(width, suspect[0] - position) if suspect and position < suspect[0] else width


class Trail:
    """The notes on one task (or on the rest of one, from ``start``), kept by the worker that runs it."""

    def __init__(self, io: Pool, claims: Claims, retries: int, task: int, start: int) -> None:
        self._io = io
        self._prefix = layout.task_trails(claims.job_id, claims.stage, task)
        self._key = layout.trail(claims.job_id, claims.stage, task, start)
        self._retries = retries
        self._round = claims.round
        self._note = Note(self._round)
        self._width = 0
        self._began = time.monotonic()
        self._beating: asyncio.Task[None] | None = None
        self._left = False
        self.careful = False
        self.alive_elsewhere = False
        """Whether somebody is at this very task right now."""

    async def open(self, *, retaken: bool) -> None:
        """Read what was noted; a task that was taken back, or has cost a worker before, is run carefully."""
        keys = [entry.key for entry in await self._io.list_jobs(self._prefix)]
        read = zip(keys, await asyncio.gather(*map(self._read, keys)), strict=True)
        notes = {key: note for key, note in read if note}
        mine = notes.pop(self._key, None)
        if mine and mine.start >= 0 and mine.round == self._round:
            await asyncio.sleep(_SILENCE_S)
            later = await self._read(self._key) or mine
            self.alive_elsewhere = later.beat != mine.beat
            mine = later
        self._note = mine or Note(self._round)
        self._note.judge()
        for other in notes.values():
            if other.round < self._round:
                other.judge()
                self._note.suspect = self._note.suspect or other.suspect
            for mark, found in ((self._note.losses, other.losses), (self._note.cuts, other.cuts)):
                for position, count in found.items():
                    mark[position] = max(mark.get(position, 0), count)
        self._note.round = self._round
        self.careful = retaken or bool(self._note.losses or self._note.suspect)
        if self.careful:
            await self._write()

    def verdicts(self) -> dict[int, dict[str, Any]]:
        """Positions that are not tried again, and what to say of them."""
        found = {}
        for position, tries in self._note.losses.items():
            if tries > self._retries:
                times = f" ({tries} tries)" if tries > 1 else ""
                message = f"the whole environment of the worker ended while it ran the item{times}"
                found[position] = {"type": "WorkerDied", "message": message}
        for position, cuts in self._note.cuts.items():
            if cuts >= CUT_OFTEN:
                message = (
                    "the item was still running when its worker's time was up, and would be again: "
                    "split it, or raise the worker timeout of the deployment"
                )
                found[position] = {"type": "TimedOut", "message": message}
        return found

    async def step(self, position: int) -> int:
        """Note that the positions from here on come next; returns the first for which to ask again."""
        now = time.monotonic()
        self._width = block_width(position, self._width, now - self._began, self._note.suspect)
        self._note.start, self._note.stop = position, position + self._width
        await self._write()
        self._began = time.monotonic()
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
        return self._note.stop

    async def cut(self, position: int, share: float) -> None:
        """Note that the worker's end cut the item off, after it had run for ``share`` of the invocation."""
        self._note.cuts[position] = self._note.cuts.get(position, 0) + (2 if share >= _WHOLE else 1)
        await self.close(write=True)

    async def close(self, *, write: bool = False) -> None:
        """Note that nothing is being tried any more: the end came in good order."""
        if self._left:
            return
        await self._still()
        if write or self._note.start >= 0:
            self._note.start = self._note.stop = -1
            await self._write()

    async def leave(self) -> None:
        """Write nothing more. What is being tried stays noted: this worker comes to a bad end over it."""
        await self._still()
        self._left = True

    async def _still(self) -> None:
        if self._beating:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
            self._beating = None

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            self._note.beat += 1
            await self._write()

    async def _read(self, key: str) -> Note | None:
        """A note; it may be gone by now, when its task was done in an earlier round."""
        data = await self._io.find(key)
        return None if data is None else Note.from_json(data)

    async def _write(self) -> None:
        await self._io.put(self._key, self._note.as_json())
