"""All records of an algorithm, read and sorted: what may be learned from, what may not, what is damaged.

Two deliveries of a record are one object, so nothing is there twice; the same run under two keys is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bellwren import layout
from bellwren.learning.calibration import Outcome, outcome, unaided
from bellwren.learning.quarantine import quarantine
from bellwren.learning.state import fingerprint, short
from bellwren.records.execution import Execution
from bellwren.records.labels import BadRecord, NotALabel, Parsed, parse_record
from bellwren.store import Entry, Store

_PARALLEL = 32
_BATCH = 512
_BATCH_BYTES = 64 << 20
"""What is in memory at once of what lies in storage; of a record no more is kept than a model needs."""
MOST_BYTES = 16 << 20
"""Of one record. Our own have some kilobytes, and what is larger than this is none."""


@dataclass(frozen=True)
class Labelled:
    """A run that may be learned from."""

    execution: Execution
    job_id: str
    started_at: str
    """ISO 8601 in UTC; empty where it is not known."""
    cold: bool
    """Whether cold starts are in its time."""
    name: str
    """Short digest of its key and content."""
    unaided_s: float | None = None
    """What was expected of it by no model: by the analytic prior, or the stated default. None: not known."""


@dataclass
class Merged:
    """The records of one algorithm."""

    labels: list[Labelled] = field(default_factory=list)
    """In order of their time."""
    outcomes: list[Outcome] = field(default_factory=list)
    """How forecasts turned out, in order of time."""
    set_aside: int = 0
    """Sound records that are no labels: failed, cancelled, disturbed, or cold where the same was run warm too."""
    repeated: int = 0
    """Records of a run that is there already."""
    bad: list[tuple[Entry, str]] = field(default_factory=list)
    """Damaged: the object, and what is wrong with it."""
    fingerprint: str = ""
    """Of the records that are not damaged."""


def merge(records: Store, algorithm: str) -> Merged:
    """Read every record of an algorithm."""
    return sort_records(algorithm, _read(records, list(records.list(layout.records(algorithm)))))


def _read(records: Store, entries: list[Entry]) -> Iterator[tuple[Entry, bytes | None]]:
    """Contents in the order of their keys, some in memory at once; None for one that is too large to be a record."""
    with ThreadPoolExecutor(_PARALLEL) as threads:
        for batch in _batches(entry for entry in entries):
            fetched = threads.map(
                lambda entry: records.find(entry.key) if entry.size <= MOST_BYTES else b"", batch
            )
            for entry, content in zip(batch, fetched, strict=True):
                if entry.size > MOST_BYTES:
                    yield entry, None
                elif content is not None:  # one that has vanished was put into quarantine by another training
                    yield entry, content


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += min(entry.size, MOST_BYTES)
        if len(batch) == _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def sort_records(algorithm: str, pairs: Iterable[tuple[Entry, bytes | None]]) -> Merged:
    """Sort records as they come."""
    merged, kept, seen = Merged(), [], set()
    for entry, content in pairs:
        try:
            parsed = _parsed(algorithm, entry, content)
        except BadRecord as error:
            merged.bad.append((entry, str(error)))
            continue
        except NotALabel:
            merged.set_aside += 1
            kept.append(entry)
            continue
        kept.append(entry)
        if parsed.job_id and parsed.job_id in seen:
            merged.repeated += 1
            continue
        seen.add(parsed.job_id)
        merged.labels.append(_labelled(parsed, entry))
        merged.outcomes += filter(None, [outcome(_in_utc(parsed))])
    warm = _warm_where_there_are(merged.labels)
    merged.set_aside += len(merged.labels) - len(warm)
    merged.labels = sorted(warm, key=lambda one: (one.started_at, one.name))
    merged.outcomes.sort(key=lambda one: one.started_at)
    merged.fingerprint = fingerprint(kept)
    return merged


def _labelled(parsed: Parsed, entry: Entry) -> Labelled:
    label = parsed.label
    return Labelled(
        label.execution, parsed.job_id, parsed.started_at, label.cold, short(entry), unaided(parsed.document)
    )


def _in_utc(parsed: Parsed) -> Mapping[str, Any]:
    return {**parsed.document, "started_at": parsed.started_at}


def _warm_where_there_are(labels: list[Labelled]) -> list[Labelled]:
    """Without the cold runs of whatever was run warm as well: starting workers is no part of the work itself."""

    def cell(one: Labelled) -> tuple[object, ...]:
        return one.execution.context, one.execution.cell

    warm = {cell(one) for one in labels if not one.cold}
    return [one for one in labels if not one.cold or cell(one) not in warm]


def _parsed(algorithm: str, entry: Entry, content: bytes | None) -> Parsed:
    if content is None:
        raise BadRecord(f"{entry.key}: it has {entry.size:,} bytes; at most {MOST_BYTES:,} are read")
    parsed = parse_record(content, entry.key)
    if parsed.algorithm != algorithm:
        raise BadRecord(f"{entry.key}: algorithm is {parsed.algorithm!r}; the key says {algorithm!r}")
    return parsed


def put_aside(records: Store, merged: Merged) -> None:
    """Move what is damaged into quarantine."""
    for entry, reason in merged.bad:
        quarantine(records, entry, reason)
