"""What a sound document leaves open, filled in: every default that depends on other fields."""

from __future__ import annotations

import re
from typing import Any

from bellwren.algorithms import parameters as algorithms
from bellwren.inputs.spec import InputSpec
from bellwren.spec.data_rules import gives_raw
from bellwren.spec.draft import Draft
from bellwren.spec.uris import parse_s3_uri
from bellwren.spec.work_rules import NEEDED, ROLES_OF_KIND

DEFAULT_SUPERSTEPS = 50


def settled(draft: Draft) -> dict[str, Any]:
    """The fields of a sound document, with name, algorithm, kind and the options of kind and format."""
    document = dict(draft.document)
    kind = document["kind"] = draft.kind
    if kind is None:
        raise ValueError("a document whose kind is unknown has faults and cannot be settled")
    document["algorithm"] = (
        draft.builtin.name if draft.builtin else document.get("algorithm") or _label(draft, kind)
    )
    document.setdefault("name", document["algorithm"])
    document["output"] = _output(document.get("output", {}), gives_raw(document, kind))
    if "input" in document and "job" not in document["input"]:
        document["input"] = InputSpec.from_dict(document["input"]).to_dict()
    if draft.builtin:
        # 4.0 where a whole number is meant becomes 4, as in the fields themselves.
        complete = algorithms.complete(draft.builtin.name, document.get("params", {}))
        document["params"] = {name: complete[name] for name in document.get("params", {})}
    if kind == "bsp":
        document.setdefault("max_supersteps", DEFAULT_SUPERSTEPS)
        document.setdefault("resident", True)
    return document


def _label(draft: Draft, kind: str) -> str:
    """Under which label runs of the user's own functions are measured, if they give none."""
    for role in NEEDED[kind] or ROLES_OF_KIND[kind]:
        entry = draft.document.get(role)
        if entry is not None:
            # A label is part of S3 keys: identifiers of other alphabets lose what has no place there.
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", entry.replace(":", "."))
            return plain.lstrip("_.-")[:64] or f"own-{kind}"
    return f"own-{kind}"


def _output(output: dict[str, Any], raw: bool) -> dict[str, Any]:
    filled = {"format": "raw" if raw else "jsonl", **output}
    if "uri" in filled:
        filled["uri"] = str(parse_s3_uri(filled["uri"]).as_folder())
    return filled
