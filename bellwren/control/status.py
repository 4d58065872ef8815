"""``status.json``: what anyone may read to see how a job is doing.

It is written whole each time and only ever moves forward: a final status is never overwritten, whoever comes late.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.store import Store, as_json

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED", "REJECTED")
RESUMABLE = ("FAILED", "CANCELLED")
_TRIES = 20


def now() -> str:
    """The time, as it stands in documents."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def initial(job_id: str, *, kind: str | None, algorithm: str | None, name: str | None) -> dict[str, Any]:
    """The status of a job that has just been claimed."""
    return {
        "job_id": job_id,
        "name": name,
        "status": "QUEUED",
        "kind": kind,
        "algorithm": algorithm,
        "workers": None,
        "memory_mb": None,
        "progress": {"done": 0, "total": None},
        "started_at": now(),
        "finished_at": None,
        "results_uri": None,
        "failures": [],
        "error": None,
    }


def read(store: Store, job_id: str) -> dict[str, Any] | None:
    """The status, or None where the job has none."""
    document: dict[str, Any] | None = store.find_json(layout.status(job_id))
    return document


def update(store: Store, job_id: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Change some fields by compare-and-swap and return the whole; a final status stays as it is.

    Raises:
        FileNotFoundError: if the job has no status.
    """
    for _ in range(_TRIES):
        found = store.find_with_etag(layout.status(job_id))
        if found is None:
            raise FileNotFoundError(f"job {job_id} has no status.json")
        document: dict[str, Any] = json.loads(found[0])
        if document["status"] in FINAL:
            return document
        document.update(fields)
        if store.replace(layout.status(job_id), as_json(document), found[1]):
            return document
    raise TimeoutError(f"status.json of job {job_id} kept changing under {_TRIES} tries to update it")
