"""Whether a run had the workers that it was given: waiting for a place is not the work's own time.

Lambda starts what the account's concurrency allows, and the rest when a place is free. Such a run took the time of a
smaller scale-out, and a model that learns from it would believe that workers are worth less than they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

SHARE = 0.2
"""A wait is seen from this share of the stage's wall time on; cold starts of a few seconds are part of every run."""
LEAST_S = 1.0


@dataclass(frozen=True)
class Life:
    """One invocation of a worker."""

    round: int
    worker: int
    started_at: float
    """Seconds since 1970."""
    finished_at: float


def queue_s(lives: Iterable[Life]) -> float:
    """Seconds from the first worker's start to the last one's first start, summed over the rounds."""
    waits = 0.0
    for round_ in _rounds(lives):
        starts = _first_starts(round_).values()
        waits += max(starts) - min(starts)
    return waits


def reinvocations(lives: Iterable[Life]) -> int:
    """Invocations beyond one for each worker and round."""
    return sum(len(round_) - len(_first_starts(round_)) for round_ in _rounds(lives))


def contended(lives: Iterable[Life], *, share: float = SHARE, least_s: float = LEAST_S) -> bool:
    """Whether, in some round, a worker started only after another had ended, late enough to matter."""
    for round_ in _rounds(lives):
        starts = _first_starts(round_)
        began, last = min(starts.values()), max(starts.values())
        first_end = min(life.finished_at for life in round_)
        wall_s = max(life.finished_at for life in round_) - began
        if last >= first_end and last - began > max(least_s, share * wall_s):
            return True
    return False


def _rounds(lives: Iterable[Life]) -> list[list[Life]]:
    found: dict[int, list[Life]] = defaultdict(list)
    for life in lives:
        found[life.round].append(life)
    return list(found.values())


def _first_starts(round_: list[Life]) -> dict[int, float]:
    starts: dict[int, float] = {}
    for life in round_:
        starts[life.worker] = min(life.started_at, starts.get(life.worker, life.started_at))
    return starts
