"""Who runs which task: home runs first, then stealing, then backups.

The plan cuts a stage into more tasks than there are workers. Each worker has a *home run*, a contiguous slice; when
that is used up it steals from the far end of others' runs, where their owners come last. A task belongs to whoever
creates its claim object first (``If-None-Match: *``), so no two workers start on one task, and there is nothing to
lock and nothing to time out. A worker that Step Functions starts again finds claims with its own number and takes
them back.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bellwren import layout
from bellwren.store import Store

_BACKUP = ".backup"


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
class Claims:
    """The claims of one round of one stage."""

    store: Store
    job_id: str
    stage: str
    round: int
    worker: int
    invocation: str

    def take(self, task: int) -> str:
        """Claim a task: ``"claim"`` if it is ours now, ``"retake"`` if an earlier life of this worker had it, else
        ``""``."""
        if self.store.create(self._key(task), self._mine()):
            return "claim"
        # Either somebody was first, or an earlier life of this worker, or our own request whose answer was lost.
        found = self.read(task)
        if found is None or found.worker != self.worker:
            return ""
        return "claim" if found.invocation == self.invocation else "retake"

    def take_backup(self, task: int) -> bool:
        """Claim the second run of a task that somebody else holds; there is one for each task and round."""
        return self.store.create(self._key(task) + _BACKUP, self._mine())

    def read(self, task: int) -> Claim | None:
        """Who holds the task."""
        document = self.store.find_json(self._key(task))
        return None if document is None else Claim(**document)

    def taken(self) -> set[int]:
        """All tasks that somebody holds."""
        prefix = layout.claims(self.job_id, self.stage, self.round)
        keys = (entry.key[len(prefix) :] for entry in self.store.list(prefix))
        return {int(key) for key in keys if not key.endswith(_BACKUP)}

    def _mine(self) -> bytes:
        return json.dumps(Claim(self.worker, self.invocation, time.time()).__dict__).encode()

    def _key(self, task: int) -> str:
        return layout.task_claim(self.job_id, self.stage, self.round, task)
