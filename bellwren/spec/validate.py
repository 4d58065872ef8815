"""From a document to a :class:`JobSpec`, or to every fault in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from bellwren.errors import Fault, SpecError
from bellwren.spec import data_rules, work_rules
from bellwren.spec.available import AVAILABLE_INPUTS, AVAILABLE_KINDS
from bellwren.spec.document import SETTLED_FIELDS, JobSpec
from bellwren.spec.draft import Draft
from bellwren.spec.inspection import MAX_LISTED_FAULTS, Reading
from bellwren.spec.model_faults import faults_by_place
from bellwren.spec.settle import settled
from bellwren.spec.shape import SCHEMA_FIELD, pruned
from bellwren.spec.strict_json import adopt, read
from bellwren.spec.wording import Place, count, found

_PLACEHOLDERS = dict(zip(SETTLED_FIELDS, ("job", "job", "map"), strict=True))
"""Stand for the fields that are settled once the rest of the document is known."""


def parse(
    data: bytes,
    *,
    available_kinds: Collection[str] = AVAILABLE_KINDS,
    available_inputs: Collection[str] = AVAILABLE_INPUTS,
) -> JobSpec:
    """Read a job document. Raises :class:`SpecError` with every fault that is in it.

    >>> parse(b'{"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://books/in/"}}').kind
    'map_reduce'
    """
    return validate(read(data), available_kinds=available_kinds, available_inputs=available_inputs)


def from_dict(
    document: Mapping[str, Any],
    *,
    available_kinds: Collection[str] = AVAILABLE_KINDS,
    available_inputs: Collection[str] = AVAILABLE_INPUTS,
) -> JobSpec:
    """The same for a document that is a mapping already. It is copied; what JSON cannot say is a fault."""
    return validate(adopt(document), available_kinds=available_kinds, available_inputs=available_inputs)


def validate(
    reading: Reading,
    *,
    available_kinds: Collection[str] = AVAILABLE_KINDS,
    available_inputs: Collection[str] = AVAILABLE_INPUTS,
) -> JobSpec:
    """Judge a document that has been read: its fields one by one, then the rules between them.

    A rule is silent where a field that it needs has a fault of its own, so that one mistake is told once.
    Raises :class:`SpecError` with the faults of the reading and of the document together.
    """
    document = reading.value
    if not isinstance(document, dict):
        what = [] if () in reading.refused else [Fault("", found(document), "one JSON object, { ... }")]
        raise SpecError(listable([*reading.faults, *what], reading.unlisted))
    known = pruned({name: value for name, value in document.items() if name != SCHEMA_FIELD})
    by_place = _field_faults(known.fields, reading.refused)
    top = {str(place[0]) for place in (*by_place, *reading.refused) if place}
    draft = Draft(known.fields, frozenset(top), available_kinds, available_inputs)
    ruled = [fault for rule in (*work_rules.RULES, *data_rules.RULES) for fault in rule(draft)]
    every = [*reading.faults, *known.faults, *by_place.values(), *ruled]
    if every:
        raise SpecError(listable(every, reading.unlisted + known.unlisted))
    return JobSpec.model_validate(settled(draft))


def _field_faults(fields: dict[str, Any], refused: Collection[Place]) -> dict[Place, Fault]:
    """Faults of single fields, but for those whose place was refused when the document was read."""
    try:
        JobSpec.model_validate({**_PLACEHOLDERS, **fields})
    except ValidationError as wrong:
        by_place = faults_by_place(wrong.errors(include_url=False), fields)
        return {
            place: fault
            for place, fault in by_place.items()
            if not any(place[: depth + 1] in refused for depth in range(len(place)))
        }
    return {}


def listable(faults: Iterable[Fault], unlisted: int = 0) -> list[Fault]:
    """The first of the faults, and how many there are where they are too many to read."""
    every = list(faults)
    more = len(every) + unlisted - MAX_LISTED_FAULTS
    if more <= 0:
        return every
    rest = Fault("", f"{count(more, 'more fault')}", "none; mend those that are listed and try again")
    return [*every[:MAX_LISTED_FAULTS], rest]
