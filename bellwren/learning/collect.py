"""The tick: look at the queue, and start one training for each algorithm that has new records."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bellwren import layout
from bellwren.learning.news import Message, sort_messages
from bellwren.learning.queue import RecordQueue
from bellwren.learning.state import LearningState, fingerprint
from bellwren.store import Store

Start = Callable[[str, str], None]
"""Start the training of (algorithm, batch), and do not wait for it."""

MOST = 5000
"""Messages that one tick takes; the others are there at the next."""
AT_ONCE = 10
"""Algorithms from which on a tick takes no more messages, and that it trains at most: trainings need memory, on a
laptop's local cloud too."""
_log = logging.getLogger(__name__)


class TrainingsNotStarted(RuntimeError):
    """One algorithm's trouble, which has kept no other from its training."""


@dataclass
class Collected:
    """What a tick did."""

    messages: int = 0
    started: dict[str, str] = field(default_factory=dict)
    """The batch of each algorithm whose training was started."""
    unchanged: list[str] = field(default_factory=list)
    """Algorithms whose records had all been taken by an earlier training: their messages were old."""
    busy: list[str] = field(default_factory=list)
    """Algorithms whose training is under way: their messages come again."""
    later: list[str] = field(default_factory=list)
    """Algorithms beyond those that one tick trains: their messages come again."""
    unknown: list[str] = field(default_factory=list)
    """Algorithms that a training was asked for and that have no record."""
    strange: int = 0
    """Messages that name no record."""

    def as_dict(self) -> dict[str, Any]:
        """As the function answers."""
        return dict(vars(self))


@dataclass(frozen=True)
class Tick:
    """What a tick works with."""

    queue: RecordQueue
    records: Store
    models: Store
    start: Start
    clock: Callable[[], float] = time.time

    def collect(self, until: float = float("inf")) -> Collected:
        """Take what is in the queue and start what it asks for. ``until``: on the monotonic clock.

        Raises:
            TrainingsNotStarted: some could not be started, the others were; the messages come again.
        """
        seen: set[str] = set()

        def enough(handful: Sequence[Message]) -> bool:
            seen.update(sort_messages(handful).algorithms)
            return len(seen) >= AT_ONCE

        messages = self.queue.take(MOST, until, enough=enough)
        found = sort_messages(messages)
        done = Collected(messages=len(messages), strange=len(found.strange))
        failed: dict[str, Exception] = {}
        for algorithm, group in found.algorithms.items():
            if len(done.started) == AT_ONCE:
                done.later.append(algorithm)
                continue
            try:
                self._train(algorithm, group, done, always=False)
            except Exception as error:  # noqa: BLE001  the others are started first
                _log.exception("no training of %r could be started", algorithm)
                failed[algorithm] = error
        if failed:
            raise TrainingsNotStarted(
                f"no training could be started of: {', '.join(failed)}; started: {', '.join(done.started) or 'none'}"
            ) from next(iter(failed.values()))
        return done

    def demand(self, algorithm: str) -> Collected:
        """Start a training of one algorithm whether it has new records or not."""
        done = Collected()
        # A part of a path, such as ``grep/2026``, has records below it too, of which none would be its own.
        named = layout.ALGORITHM.fullmatch(algorithm)
        if named and any(True for _ in self.records.list(layout.records(algorithm))):
            self._train(algorithm, (), done, always=True)
        else:
            done.unknown.append(algorithm)
        return done

    def _train(self, algorithm: str, messages: Sequence[Message], done: Collected, *, always: bool) -> None:
        state = LearningState(self.models, algorithm, self.clock)
        document = state.read()
        receipts = [message.receipt for message in messages]
        if state.leased(document):
            done.busy.append(algorithm)
            return
        if not always and document.get("fingerprint") == self._fingerprint(algorithm):
            self.queue.delete(receipts)
            done.unchanged.append(algorithm)
            return
        batch = uuid.uuid4().hex[:16]
        if not state.take(batch):
            done.busy.append(algorithm)
            return
        try:
            self.models.put_json(layout.batch(algorithm, batch), {"receipts": receipts, "asked": always})
            self.start(algorithm, batch)
        except Exception:
            state.settle(batch)
            raise
        done.started[algorithm] = batch

    def _fingerprint(self, algorithm: str) -> str:
        return fingerprint(self.records.list(layout.records(algorithm)))
