"""Damaged records: moved out of the way of every training, whole, with the reason beside them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.store import Entry, Store, as_json

_REASON = ".reason.json"
_COPIED_BYTES = 5 * 2**30
"""S3 copies no more in one request. What is larger stays where it is, with its reason."""


def quarantine(records: Store, entry: Entry, reason: str) -> None:
    """Move a record; the copy is there before the original goes, whatever happens in between.

    The bucket is versioned, so the original is kept as an old version too.
    """
    moved = entry.size <= _COPIED_BYTES
    if moved:
        try:
            records.copy(entry.key, layout.quarantined(entry.key))
        except FileNotFoundError:  # another training was faster
            return
    said = {
        "key": entry.key,
        "etag": entry.etag,
        "reason": reason,
        "moved": moved,
        "quarantined_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    records.put(layout.quarantine_reason(entry.key), as_json(said))
    if moved:
        records.delete([entry.key])


def quarantined(records: Store, algorithm: str = "") -> Iterator[dict[str, Any]]:
    """What is known of each record in quarantine: ``key`` where it lay, ``reason``, ``quarantined_at``."""
    prefix = layout.QUARANTINE + (f"{algorithm}/" if algorithm else "")
    for entry in records.list(prefix):
        if entry.key.endswith(_REASON):
            yield records.get_json(entry.key)
