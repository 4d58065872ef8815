"""Damaged records: moved out of the way of every training, whole, with the reason beside them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.store import Entry, Store, as_json

_REASON = ".reason.json"


def quarantine(records: Store, entry: Entry, content: bytes, reason: str) -> None:
    """Move a record; the copy is there before the original goes, whatever happens in between.

    The bucket is versioned, so the original is kept as an old version too.
    """
    records.put(layout.quarantined(entry.key), content)
    said = {
        "key": entry.key,
        "etag": entry.etag,
        "reason": reason,
        "quarantined_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    records.put(layout.quarantine_reason(entry.key), as_json(said))
    records.delete([entry.key])


def quarantined(records: Store, algorithm: str = "") -> Iterator[dict[str, Any]]:
    """What is known of each record in quarantine: ``key`` where it lay, ``reason``, ``quarantined_at``."""
    prefix = layout.QUARANTINE + (f"{algorithm}/" if algorithm else "")
    for entry in records.list(prefix):
        if entry.key.endswith(_REASON):
            yield records.get_json(entry.key)
