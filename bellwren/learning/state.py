"""How learning from one algorithm's records stands: one small document, moved by compare-and-swap.

It holds the lease of the training that is under way, so that ticks that overlap start one training between them, and
the fingerprint of the records that the last one took, so that an event that comes again starts none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from bellwren import layout
from bellwren.store import Entry, Store, as_json

Document = dict[str, Any]

START_S = 300.0
"""How long a training that was asked for has until it begins; after that another one may be asked for."""
LEASE_S = 120.0
"""How long a training that says nothing is taken to be under way. It renews its lease while it lives, so that one that
was killed (memory, time, a laptop that was shut) is not waited for."""
RENEW_S = 30.0
_TRIES = 8
_log = logging.getLogger(__name__)


class LearningState:
    """The document of one algorithm."""

    def __init__(self, models: Store, algorithm: str, clock: Callable[[], float] = time.time) -> None:
        self._models = models
        self._key = layout.learning(algorithm)
        self._clock = clock

    def read(self) -> Document:
        """The document; empty where there is none yet, or a damaged one."""
        found = self._models.find(self._key)
        return {} if found is None else self._parsed(found)

    def leased(self, document: Document) -> bool:
        """Whether a training is under way, or was and ended without a word a moment ago."""
        lease = document.get("lease")
        return lease is not None and lease["until"] > self._clock()

    def take(self, batch: str) -> bool:
        """Take the lease for a batch; False if somebody has it.

        A lease that ran out after its training had begun is one that vanished, and how many did in a row is counted:
        the next one takes less (`bellwren.learning.training.Lesson.vanished`).
        """

        def change(document: Document) -> Document | None:
            if self.leased(document):
                return None
            last = document.get("lease") or {}
            vanished = max(last.get("vanished", 0) + ("invocation" in last), document.get("eased", 0))
            lease = {"batch": batch, "until": self._clock() + START_S, "vanished": vanished}
            return {**document, "lease": lease}

        return self._move(change)

    def take_up(self, batch: str, invocation: str) -> bool:
        """Begin the training of a batch; False if its lease is another's, or another invocation has begun it.

        Lambda may deliver an event twice, or late.
        """
        return self._move(lambda document: self._renewed(document, batch, invocation, new=True))

    def renew(self, batch: str, invocation: str) -> bool:
        """Say that the training is still under way; False if its lease is another's by now."""
        return self._move(lambda document: self._renewed(document, batch, invocation, new=False))

    def _renewed(self, document: Document, batch: str, invocation: str, *, new: bool) -> Document | None:
        lease = document.get("lease")
        if lease is None or lease["batch"] != batch:
            return None
        if lease.get("invocation", invocation if new else None) != invocation:
            return None
        until = self._clock() + LEASE_S
        return {**document, "lease": {**lease, "invocation": invocation, "until": until}}

    @contextmanager
    def kept(self, batch: str, invocation: str, every_s: float = RENEW_S) -> Iterator[None]:
        """Renew the lease from a thread for as long as the context lasts."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(every_s):
                try:
                    if not self.renew(batch, invocation):
                        return
                except Exception:  # noqa: BLE001  one failed request does not end a training
                    _log.exception("the lease of batch %s could not be renewed; it is tried again", batch)

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

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
            after = change({} if found is None else self._parsed(found[0]))
            if after is None:
                return False
            data = as_json(after)
            if found is None:
                moved = self._models.create(self._key, data)
            else:
                moved = self._models.replace(self._key, data, found[1])
            if moved or self._models.find(self._key) == data:  # moved by a request whose answer was lost
                return True
        raise RuntimeError(
            f"s3://{self._models.bucket}/{self._key} changed {_TRIES} times while it was moved"
        )

    def _parsed(self, content: bytes) -> Document:
        """The document, without what is no lease. A damaged one is replaced by whoever moves it next: all that is in it
        is found again by a training, and algorithms are not to stand still for it.
        """
        try:
            document = json.loads(content)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            _log.error("s3://%s/%s is damaged and is made anew", self._models.bucket, self._key)
            return {}
        lease = document.get("lease")
        sound = (
            isinstance(lease, dict)
            and isinstance(lease.get("batch"), str)
            and isinstance(lease.get("until"), (int, float))
        )
        return document if sound else {name: value for name, value in document.items() if name != "lease"}


def fingerprint(entries: Iterable[Entry]) -> str:
    """Names a set of records: the same for the same keys and contents, in whatever order they came."""
    total = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: entry.key):
        total.update(f"{entry.key}\0{entry.etag}\n".encode())
    return total.hexdigest()[:32]


def short(entry: Entry) -> str:
    """Names one record in twelve digits."""
    return hashlib.sha256(f"{entry.key}\0{entry.etag}".encode()).hexdigest()[:12]
