"""All records of an algorithm, read and sorted: what may be learned from, what may not, what is damaged.

Two deliveries of a record are one object, so nothing is there twice; the same run under two keys is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bellwren import layout
from bellwren.learning.calibration import Outcome, outcome
from bellwren.learning.quarantine import quarantine
from bellwren.learning.state import fingerprint, short
from bellwren.records.labels import BadRecord, NotALabel, Parsed, parse_record
from bellwren.store import Entry, Store

_PARALLEL = 32


@dataclass(frozen=True)
class Labelled:
    """A run that may be learned from."""

    parsed: Parsed
    name: str
    """Short digest of its key and content."""


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
    bad: list[tuple[Entry, bytes, str]] = field(default_factory=list)
    """Damaged: the object, its content and what is wrong with it."""
    fingerprint: str = ""
    """Of the records that are not damaged."""


def merge(records: Store, algorithm: str) -> Merged:
    """Read every record of an algorithm."""
    entries = list(records.list(layout.records(algorithm)))
    with ThreadPoolExecutor(_PARALLEL) as threads:
        contents = list(threads.map(lambda entry: records.find(entry.key), entries))
    # One that vanished since it was listed was put into quarantine by another training.
    pairs = [(entry, data) for entry, data in zip(entries, contents, strict=True) if data is not None]
    return sort_records(algorithm, pairs)


def sort_records(algorithm: str, pairs: Iterable[tuple[Entry, bytes]]) -> Merged:
    """Sort records that are in memory."""
    merged, kept, seen = Merged(), [], set()
    for entry, content in pairs:
        try:
            parsed = _parsed(algorithm, entry, content)
        except BadRecord as error:
            merged.bad.append((entry, content, str(error)))
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
        merged.labels.append(Labelled(parsed, short(entry)))
        merged.outcomes += filter(None, [outcome(parsed.document)])
    warm = _warm_where_there_are(merged.labels)
    merged.set_aside += len(merged.labels) - len(warm)
    merged.labels = sorted(warm, key=lambda one: (one.parsed.started_at, one.name))
    merged.outcomes.sort(key=lambda one: one.started_at)
    merged.fingerprint = fingerprint(kept)
    return merged


def _warm_where_there_are(labels: list[Labelled]) -> list[Labelled]:
    """Without the cold runs of whatever was run warm as well: starting workers is no part of the work itself."""

    def cell(one: Labelled) -> tuple[object, ...]:
        execution = one.parsed.label.execution
        return execution.context, execution.cell

    warm = {cell(one) for one in labels if not one.parsed.label.cold}
    return [one for one in labels if not one.parsed.label.cold or cell(one) not in warm]


def _parsed(algorithm: str, entry: Entry, content: bytes) -> Parsed:
    parsed = parse_record(content, entry.key)
    if parsed.algorithm != algorithm:
        raise BadRecord(f"{entry.key}: algorithm is {parsed.algorithm!r}; the key says {algorithm!r}")
    return parsed


def put_aside(records: Store, merged: Merged) -> None:
    """Move what is damaged into quarantine."""
    for entry, content, reason in merged.bad:
        quarantine(records, entry, content, reason)
