"""How learning from one algorithm's records stands: one small document, moved by compare-and-swap.

It holds the lease of the training that is under way, so that ticks that overlap start one training between them, and
the fingerprint of the records that the last one took, so that an event that comes again starts none.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

from bellwren import layout
from bellwren.store import Entry, Store, as_json

Document = dict[str, Any]

_TRIES = 8


class LearningState:
    """The document of one algorithm."""

    def __init__(self, models: Store, algorithm: str, clock: Callable[[], float] = time.time) -> None:
        self._models = models
        self._key = layout.learning(algorithm)
        self._clock = clock

    def read(self) -> Document:
        """The document; empty where there is none yet."""
        found: Document = self._models.find_json(self._key) or {}
        return found

    def leased(self, document: Document) -> bool:
        """Whether a training is under way, or was and ended without a word not long ago."""
        lease = document.get("lease")
        return lease is not None and lease["until"] > self._clock()

    def take(self, batch: str, lease_s: float) -> bool:
        """Take the lease for a batch; False if somebody has it."""

        def change(document: Document) -> Document | None:
            if self.leased(document):
                return None
            return {**document, "lease": {"batch": batch, "until": self._clock() + lease_s}}

        return self._move(change)

    def take_up(self, batch: str, invocation: str) -> bool:
        """Begin the training of a batch; False if its lease is gone, or another invocation has begun it.

        Lambda may deliver an event twice.
        """

        def change(document: Document) -> Document | None:
            lease = document.get("lease")
            if not self.leased(document) or lease is None or lease["batch"] != batch:
                return None
            if lease.get("invocation", invocation) != invocation:
                return None
            return {**document, "lease": {**lease, "invocation": invocation}}

        return self._move(change)

    def settle(self, batch: str, **facts: Any) -> bool:
        """Give the lease of a batch back and note what came of it; False if the lease was another's by then."""

        def change(document: Document) -> Document | None:
            lease = document.get("lease")
            if lease is None or lease["batch"] != batch:
                return None
            return {**{name: value for name, value in document.items() if name != "lease"}, **facts}

        return self._move(change)

    def _move(self, change: Callable[[Document], Document | None]) -> bool:
        for _ in range(_TRIES):
            found = self._models.find_with_etag(self._key)
            after = change({} if found is None else json.loads(found[0]))
            if after is None:
                return False
            data = as_json(after)
            if found is None:
                moved = self._models.create(self._key, data)
            else:
                moved = self._models.replace(self._key, data, found[1])
            if moved:
                return True
        raise RuntimeError(
            f"s3://{self._models.bucket}/{self._key} changed {_TRIES} times while it was moved"
        )


def fingerprint(entries: Iterable[Entry]) -> str:
    """Names a set of records: the same for the same keys and contents, in whatever order they came."""
    total = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: entry.key):
        total.update(f"{entry.key}\0{entry.etag}\n".encode())
    return total.hexdigest()[:32]


def short(entry: Entry) -> str:
    """Names one record in twelve digits."""
    return hashlib.sha256(f"{entry.key}\0{entry.etag}".encode()).hexdigest()[:12]
