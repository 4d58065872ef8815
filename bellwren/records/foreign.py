"""A run of another system as an execution record like our own, so that jobs and imports are learned from together."""

from __future__ import annotations

from typing import Any

from bellwren.records.document import RecordDocument
from bellwren.records.execution import BYTES, ITEMS, MACHINE, MEMORY_MB, SLOTS, TASKS, Execution, Value
from bellwren.records.version import SCHEMA

TIME = "1970-01-01T00:00:00+00:00"
"""When it ran is not known: it counts as older than every run of our own, and its key is the same at each import."""

_OWN = (BYTES, ITEMS, TASKS, MEMORY_MB, SLOTS, MACHINE)


def record_of(run: Execution, name: str) -> RecordDocument:
    """The record of a run. Its parameters and characteristics stand where a job's ``params`` and ``context`` do.

    Args:
        run: What was imported.
        name: Names the run, the same at each import; see `bellwren.records.importing.record_ids`.
    """
    params: dict[str, Any] = {}
    context: dict[str, Any] = {}
    for key, value in run.properties.items():
        if key not in _OWN:
            (params if run.kind(key) == "parameter" else context)[key] = value
    return {
        "schema": SCHEMA,
        "job_id": f"import-{name}",
        "algorithm": run.algorithm,
        "outcome": "SUCCEEDED",
        "label": True,
        "started_at": TIME,
        "runtime_s": run.runtime_s,
        "source": run.source,
        "workers": run.workers,
        "bytes": _number(run, BYTES),
        "items": _number(run, ITEMS),
        "tasks": _number(run, TASKS),
        "memory_mb": _number(run, MEMORY_MB),
        "slots": _number(run, SLOTS),
        "machine_type": _text(run.properties.get(MACHINE)),
        "params": params,
        "context": context,
    }


def _number(run: Execution, name: str) -> float | None:
    value = run.properties.get(name)
    return None if value is None else float(value)


def _text(value: Value | None) -> str | None:
    return None if value is None else str(value)
