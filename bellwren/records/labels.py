"""From an execution record to a label that may be trained on, or the reason why it may not.

A record is never coerced. What is damaged goes to quarantine; what is sound but says nothing of an undisturbed run
(failed, cancelled, contended) is set aside.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from bellwren.records.execution import BYTES, ITEMS, MACHINE, MEMORY_MB, SLOTS, TASKS, Execution, Kind, Value
from bellwren.records.version import READS

MB_PER_VCPU = 1769.0
_GROUPS: tuple[tuple[str, Kind], ...] = (
    ("params", "parameter"),
    ("context", "characteristic"),
    ("data", "characteristic"),
)
MOST_NAMES = 2000
"""Of one group. A job document takes 1,000 parameters and 100 properties of its context."""
_TEXT = 1000
"""Characters of a text that are kept; what tells contexts apart is at its beginning."""


class BadRecord(ValueError):
    """The record is damaged; it belongs into quarantine."""


class NotALabel(ValueError):
    """The record is sound, and no label: the run failed, was cancelled or disturbed."""


@dataclass(frozen=True)
class Label:
    """A run, and whether cold starts are in its time."""

    execution: Execution
    cold: bool


@dataclass(frozen=True)
class Parsed:
    """A label with the document that it was made of."""

    label: Label
    document: Mapping[str, Any]

    @property
    def algorithm(self) -> str:
        """What it is a run of."""
        return self.label.execution.algorithm

    @property
    def job_id(self) -> str:
        """The job; empty where the record does not say."""
        return str(self.document.get("job_id") or "")

    @property
    def started_at(self) -> str:
        """ISO 8601 in UTC, so that texts sort as times do; empty where the record does not say."""
        said = self.document.get("started_at")
        return _time(said).isoformat() if said else ""


def parse(content: bytes, source: str) -> Label:
    """Read one record. Raises `BadRecord` (what is wrong) or `NotALabel` (why it does not count)."""
    return parse_record(content, source).label


def parse_record(content: bytes, source: str) -> Parsed:
    """Read one record, and keep its document. Raises as `parse` does."""
    try:
        document = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{source}: not JSON: {error}"[:300]) from error
    if not isinstance(document, dict):
        raise BadRecord(f"{source}: a record is an object, found {type(document).__name__}")
    return Parsed(label(document, source), document)


def label(document: Mapping[str, Any], source: str) -> Label:
    """Take what the models need from a record's document. Raises as `parse` does."""
    schema = document.get("schema")
    if type(schema) is int and schema > max(READS):
        # Written by a newer version, of which this deployment was rolled back: it is sound, and stays where it is.
        raise NotALabel(
            f"{source}: schema is {schema}"[:200] + f"; this version reads {', '.join(map(str, READS))}"
        )
    if type(schema) is not int or schema not in READS:
        raise BadRecord(
            f"{source}: schema is {schema!r}"[:200] + f"; this version reads {', '.join(map(str, READS))}"
        )
    algorithm = document.get("algorithm")
    if not isinstance(algorithm, str) or not algorithm:
        raise BadRecord(f"{source}: algorithm is {algorithm!r}; it must be a text"[:300])
    workers, runtime_s = _number(document, "workers", source), _number(document, "runtime_s", source)
    outcome = document.get("outcome")
    if outcome != "SUCCEEDED" or document.get("label") is False:
        raise NotALabel(f"{source}: the outcome is {outcome!r} and not a clean success")
    # A run that lost runners had parts of its work done twice: its time is not that of the work.
    if document.get("contended") or document.get("lost_runners"):
        raise NotALabel(f"{source}: the run was disturbed (contended, or runners were lost)")
    if document.get("started_at"):
        _check_time(document["started_at"], source)
    properties, kinds = properties_of(document, source)
    try:
        execution = Execution(algorithm, workers, runtime_s, properties, kinds, source)
    except ValueError as error:
        raise BadRecord(f"{source}: {error}") from error
    return Label(execution, bool(document.get("cold_starts")))


def properties_of(document: Mapping[str, Any], source: str) -> tuple[dict[str, Value], dict[str, Kind]]:
    """What is known of a run before it runs: the same from a record and from a job about to be forecast.

    Args:
        document: `bytes`, `items`, `most_tasks` (else `tasks`: a number, or one for each stage), `params`, `context`,
            `data`; for a run that is over `memory_mb` too; for one of another system `slots` and `machine_type`.
        source: How messages call it.
    """
    properties: dict[str, Value] = {}
    kinds: dict[str, Kind] = {}
    for name, own in ((BYTES, "bytes"), (ITEMS, "items"), (MEMORY_MB, "memory_mb"), (SLOTS, "slots")):
        if document.get(own) is not None:
            properties[name] = _number(document, own, source, least=0.0)
    if MEMORY_MB in properties and SLOTS not in properties and document.get("kind"):
        properties[SLOTS] = float(properties[MEMORY_MB]) / MB_PER_VCPU
    if isinstance(document.get("machine_type"), str):
        properties[MACHINE] = _text(document["machine_type"])
    # Into how many tasks a stage was cut depends on the workers chosen; how many are possible, on the input alone.
    tasks = document.get("most_tasks") or document.get("tasks")
    if isinstance(tasks, Mapping):
        tasks = max((_finite(value) for value in tasks.values()), default=0.0)
    if (count := _finite(tasks)) > 0:
        properties[TASKS] = count
    for group, kind in _GROUPS:
        for name, value in _names(document, group, source).items():
            flat = _flat(value)
            if flat is not None:
                # One text for a name, however many thousand records have it.
                full = sys.intern(_text(f"{group}.{name}"))
                properties[full] = flat
                kinds[full] = kind
    return properties, kinds


def _names(document: Mapping[str, Any], group: str, source: str) -> Mapping[str, Any]:
    found = document.get(group)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise BadRecord(f"{source}: {group} is of type {type(found).__name__}; it must be an object")
    if len(found) > MOST_NAMES:
        raise BadRecord(f"{source}: {group} has {len(found):,} names; at most {MOST_NAMES:,} are read")
    return found


def _flat(value: Any) -> Value | None:
    """A number or a text as it is, anything with parts by its text; nothing for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        number = float(value) if abs(value) < 1e300 else math.inf
        return number if math.isfinite(number) else str(value)[:100]
    return _text(value if isinstance(value, str) else json.dumps(value, sort_keys=True)[:500])


def _text(text: str) -> str:
    """Of bounded length, and such that it can be written: halves of characters, which JSON allows, cannot."""
    return text[:_TEXT].encode("utf-8", "replace").decode("utf-8")


def _finite(value: Any) -> float:
    """A count as a number; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if abs(value) < 1e300 else math.inf


def _time(said: Any) -> datetime:
    """A time in ISO 8601; one without a zone is UTC. Raises ValueError, TypeError or OverflowError."""
    time = datetime.fromisoformat(said)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def _check_time(said: Any, source: str) -> None:
    try:
        _time(said)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadRecord(
            f"{source}: started_at is {said!r}"[:200] + "; it must be a time in ISO 8601"
        ) from error


def _number(document: Mapping[str, Any], name: str, source: str, least: float = math.ulp(0.0)) -> float:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadRecord(f"{source}: {name} is {value!r}; it must be a number")
    number = float(value) if abs(value) < 1e300 else math.inf
    if not (math.isfinite(number) and number >= least):
        raise BadRecord(
            f"{source}: {name} is {value!r}; it must be finite and {'above' if least else 'at least'} 0"
        )
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
