"""Which fields an object of the document has: the unknown ones are named, and null counts as not given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from bellwren.errors import Fault
from bellwren.spec.document import SETTLED_FIELDS, JobSpec
from bellwren.spec.fields import Says
from bellwren.spec.inspection import MAX_LISTED_FAULTS
from bellwren.spec.sections import Section
from bellwren.spec.wording import Place, listed, nearest, path

SCHEMA_FIELD = "$schema"
"""Editors look here for the JSON Schema; it means nothing to the job."""


@cache
def fields(section: type[Section]) -> dict[str, FieldInfo]:
    """The fields of a section by the names that they have in the document."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def inner(field: FieldInfo) -> type[Section] | None:
    """The section that stands in a field, if one does."""
    return _section_in(field.annotation)


def allowed_at(place: Place) -> str | None:
    """What may stand at a place; where a field has values within, what each of them may be."""
    section: type[Section] | None = JobSpec
    said: Says | None = None
    for step in place:
        field = fields(section).get(str(step)) if section is not None else None
        if field is None:
            return (said.each or said.allowed) if said else None
        said = next((mark for mark in field.metadata if isinstance(mark, Says)), None)
        section = inner(field)
    return said.allowed if said else None


@dataclass(frozen=True)
class Pruned:
    """An object of the document with its known and given fields only."""

    fields: dict[str, Any]
    faults: tuple[Fault, ...]
    """One for each unknown field, in this object and in those inside it."""
    unlisted: int
    """Unknown fields beyond those that are worth putting into words."""


def pruned(value: dict[str, Any], section: type[Section] = JobSpec, place: Place = ()) -> Pruned:
    """Part an object of the document from its unknown fields, and from null where it means not given."""
    known = fields(section)
    kept: dict[str, Any] = {}
    unknown = [name for name in value if name not in known]
    faults = [
        Fault(path((*place, name)), "an unknown field", _advice(name, section, place))
        for name in unknown[:MAX_LISTED_FAULTS]
    ]
    unlisted = max(0, len(unknown) - MAX_LISTED_FAULTS)
    for name, field in known.items():
        optional = field.default is None or (section is JobSpec and name in SETTLED_FIELDS)
        if name not in value or (value[name] is None and optional):
            continue
        kept[name] = value[name]
        within = inner(field)
        if within is not None and isinstance(value[name], dict):
            nested = pruned(value[name], within, (*place, name))
            kept[name] = nested.fields
            faults += nested.faults
            unlisted += nested.unlisted
    return Pruned(kept, tuple(faults), unlisted)


def _advice(name: str, section: type[Section], place: Place) -> str:
    known = fields(section)
    meant = name if name in _homes() else nearest(name, [*known, *_homes()])
    if meant in known:
        right = (*place, meant)
        return f"did you mean `{meant}`? {path(right)} is {allowed_at(right)}"
    if meant is not None:
        wheres = listed(
            "the top of the document" if not home else f"`{path(home)}`" for home in _homes()[meant]
        )
        return f"{'' if meant == name else 'did you mean '}`{meant}`, which stands in {wheres}"
    of_people = [field for field in known if not field.endswith("payload")]
    free = "" if place else "; what your own functions should see goes into `params`"
    return f"here only {listed(of_people, last='and')}{free}"


@cache
def _homes() -> dict[str, list[Place]]:
    """For each field name the sections that have it, as places."""
    homes: dict[str, list[Place]] = {}
    for name, field in fields(JobSpec).items():
        homes.setdefault(name, []).append(())
        within = inner(field)
        for nested in fields(within) if within is not None else ():
            homes.setdefault(nested, []).append((name,))
    return homes


def _section_in(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    if get_origin(annotation) in (dict, list, Annotated):
        return None
    return next((part for part in map(_section_in, get_args(annotation)) if part is not None), None)
