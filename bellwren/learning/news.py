"""What a message of the queue says: which record landed. Messages are hints: the records themselves lie in storage.

So a message that comes twice, late or out of order changes nothing, and one that is lost costs time and no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bellwren import layout

_DEPTH = 6
"""``records/<algorithm>/<yyyy>/<mm>/<dd>/<job id>.json``"""


@dataclass(frozen=True)
class Message:
    """One message as SQS handed it out."""

    receipt: str
    """By which it is deleted, or given back."""
    body: str


@dataclass(frozen=True)
class Sorted:
    """Messages by what they speak of."""

    algorithms: Mapping[str, tuple[Message, ...]]
    """In the order of their first messages."""
    strange: tuple[Message, ...]
    """Those that name no record. They stay in the queue until it puts them with the dead letters."""


def sort_messages(messages: Iterable[Message]) -> Sorted:
    """Group messages by algorithm."""
    found: dict[str, list[Message]] = {}
    strange = []
    for message in messages:
        algorithm = algorithm_of(record_key(message.body))
        if algorithm is None:
            strange.append(message)
        else:
            found.setdefault(algorithm, []).append(message)
    return Sorted({name: tuple(group) for name, group in found.items()}, tuple(strange))


def record_key(body: str) -> str | None:
    """Key of the record of an S3 "Object Created" event, or None where the message is no such event."""
    try:
        event: Any = json.loads(body)
        key = event["detail"]["object"]["key"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return key if isinstance(key, str) else None


def algorithm_of(key: str | None) -> str | None:
    """Algorithm of a record's key, or None where it is no key of a record."""
    parts = (key or "").split("/")
    is_record = len(parts) == _DEPTH and parts[0] + "/" == layout.RECORDS and parts[-1].endswith(".json")
    return parts[1] if is_record and layout.ALGORITHM.fullmatch(parts[1]) else None
