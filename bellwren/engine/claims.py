"""Who runs which task: home runs first, then stealing, then backups.

The plan cuts a stage into more tasks than there are workers. Each worker has a *home run*, a contiguous slice; when
that is used up it steals from the far end of others' runs, where their owners come last. A task belongs to whoever
creates its claim object first (``If-None-Match: *``), so no two workers start on one task, and there is nothing to
lock and nothing to time out. A worker that Step Functions starts again finds claims with its own number and takes
them back.

What waits behind a slow item, in its task or in tasks claimed ahead, is *offered*: the rest of a task from a position
on becomes a claim of its own, for whoever is idle, or for the owner when it gets there first.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bellwren import layout
from bellwren.store import Entry, Store

_BACKUP = ".backup"
_OFFER = ".open"


def home_run(worker: int, workers: int, tasks: int) -> range:
    """The slice of tasks that is the worker's own; slices differ in length by at most one."""
    return range(worker * tasks // workers, (worker + 1) * tasks // workers)


def claim_order(worker: int, workers: int, tasks: int) -> Iterator[int]:
    """Every task once, in the order in which this worker would claim them.

    Victims are visited from the worker's neighbour onwards, so that idle workers spread over different victims.
    """
    yield from home_run(worker, workers, tasks)
    for step in range(1, workers):
        yield from reversed(home_run((worker + step) % workers, workers, tasks))


def leftover_order(worker: int, workers: int, left: Sequence[int]) -> Iterator[int]:
    """The claim order of a later round, over the tasks that are left, the most urgent first.

    Each worker begins with another one of the first ``workers``, so those have a whole invocation before them.
    """
    yield from left[worker::workers]
    for step in range(1, workers):
        yield from reversed(left[(worker + step) % workers :: workers])


def backup_due(
    elapsed_s: float,
    durations_s: Sequence[float],
    *,
    min_done: int = 3,
    slow_factor: float = 3.0,
    floor_s: float = 1.0,
) -> bool:
    """Whether a task that has run for ``elapsed_s`` deserves a second runner.

    The rule of MapReduce's backup tasks (Dean and Ghemawat, 2004), with the threshold that Cubed uses: three times the
    median of what finished tasks took. Below ``min_done`` finished tasks there is no median to speak of, and below
    ``floor_s`` a second run costs more than it can save.
    """
    if len(durations_s) < min_done:
        return False
    return elapsed_s > max(floor_s, slow_factor * statistics.median(durations_s))


@dataclass(frozen=True)
class Claim:
    """What a claim object says."""

    worker: int
    invocation: str
    at: float
    """Seconds since the epoch, by the claiming worker's clock."""


@dataclass(frozen=True)
class Board:
    """What the listing of a round's claims says."""

    taken: set[int]
    """Tasks that somebody has claimed."""
    offers: list[tuple[int, int]]
    """Task and position of each rest that was offered."""
    rests: set[tuple[int, int]]
    """Those of them that somebody has claimed."""


def read_board(names: Iterable[str]) -> Board:
    """Read the names of claim objects, without their prefixes."""
    board = Board(set(), [], set())
    for name in names:
        task, _, rest = name.partition(".")
        if not rest:
            board.taken.add(int(task))
        elif rest.endswith(_OFFER):
            board.offers.append((int(task), int(rest.removesuffix(_OFFER))))
        elif rest.isdigit():
            board.rests.add((int(task), int(rest)))
    return board


@dataclass(frozen=True)
class Claims:
    """The claims of one round of one stage."""

    store: Store
    job_id: str
    stage: str
    round: int
    worker: int
    invocation: str
    tasks: int
    """How many the stage has."""

    def take(self, task: int) -> str:
        """Claim a task: ``"claim"`` if it is ours now, ``"retake"`` if an earlier life of this worker had it, else
        ``""``."""
        return self._take(self._key(task))

    def take_rest(self, task: int, start: int) -> str:
        """Claim what was offered of a task; the answer is as for ``take``."""
        return self._take(self._rest(task, start))

    def take_backup(self, task: int) -> str:
        """Claim the second run of a task that somebody else holds; there is one for each task and round."""
        return self._take(self._key(task) + _BACKUP)

    def offer(self, task: int, start: int) -> None:
        """Let whoever claims it first run the task from ``start`` on."""
        self.store.create(self._rest(task, start) + _OFFER, b"{}")

    def read(self, task: int, start: int | None = None) -> Claim | None:
        """Who holds the task, or the rest of it that begins at ``start``."""
        return self._read(self._key(task) if start is None else self._rest(task, start))

    def board(self) -> Board:
        """All claims and offers, from one listing."""
        prefixes = layout.claims(self.job_id, self.stage, self.round, self.tasks)
        return read_board(map(_name, self.store.list_all(prefixes)))

    def taken_beside(self, task: int) -> set[int]:
        """Tasks that are taken, of those whose claims lie where this one's does: one request tells of a thousand."""
        prefix = layout.claims_beside(self.job_id, self.stage, self.round, task, self.tasks)
        return read_board(map(_name, self.store.list(prefix))).taken

    def unclaimed(self) -> int:
        """About how many tasks nobody has claimed yet, and 0 only if that is so.

        While there are any, one of the places where claims lie tells, since each has its share of all runs: of a job of
        many tasks all would be many requests, and every worker with a slow item asks.
        """
        one = self.worker % self.tasks
        beside = layout.tasks_beside(one, self.tasks)
        left = len(set(beside) - self.taken_beside(one))
        if left or len(beside) == self.tasks:
            return left * self.tasks // len(beside)
        return self.tasks - len(self.board().taken)

    def _take(self, key: str) -> str:
        if self.store.create(key, self._mine()):
            return "claim"
        # Either somebody was first, or an earlier life of this worker, or our own request whose answer was lost.
        found = self._read(key)
        if found is None or found.worker != self.worker:
            return ""
        return "claim" if found.invocation == self.invocation else "retake"

    def _read(self, key: str) -> Claim | None:
        document = self.store.find_json(key)
        return None if document is None else Claim(**document)

    def _mine(self) -> bytes:
        return json.dumps(Claim(self.worker, self.invocation, time.time()).__dict__).encode()

    def _key(self, task: int) -> str:
        return layout.task_claim(self.job_id, self.stage, self.round, task, self.tasks)

    def _rest(self, task: int, start: int) -> str:
        return layout.rest_claim(self._key(task), start)


def _name(entry: Entry) -> str:
    return entry.key.rpartition("/")[2]
