"""The published JSON Schema of the job document, generated from the models that validate it.

It lets editors complete and check documents. Every document that is valid passes it; rules between fields that JSON
Schema cannot say are checked by :func:`bellwren.spec.parse` alone. ``python -m bellwren.spec.schema`` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bellwren.spec.document import SETTLED_FIELDS, JobSpec
from bellwren.spec.sections import SOURCES
from bellwren.spec.shape import SCHEMA_FIELD

SCHEMA_PATH = Path(__file__).resolve().parent.parent / "schema" / "job-v1.schema.json"

EXAMPLES: tuple[dict[str, Any], ...] = (
    {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://bucket/books/"}},
    {
        "bellwren": 1,
        "name": "errors by host",
        "kind": "map_reduce",
        "code": {"uri": "s3://bucket/mycode.zip", "sha256": "9f86d081884c7d659a2feaa0c55ad015" * 2},
        "map": "mymodule:tokenise",
        "reduce": "mymodule:total",
        "combine": "mymodule:total",
        "input": {"csv": "s3://bucket/logs/", "chunk": "32MB", "columns": ["host", "level"]},
        "output": {"uri": "s3://bucket/out/", "format": "jsonl"},
        "deadline_s": 300,
        "budget_usd": 0.5,
    },
)


def schema() -> dict[str, Any]:
    """The schema, in the draft of 2020-12."""
    made = _plain(JobSpec.model_json_schema(by_alias=True, mode="validation"))
    made["properties"] = {
        SCHEMA_FIELD: {
            "type": "string",
            "description": "Where editors find this schema; has no other meaning.",
        },
        **made["properties"],
    }
    made["required"] = ["bellwren"]
    for name in SETTLED_FIELDS:
        made["properties"][name] = _or_null(made["properties"][name])
    made["anyOf"] = [
        {"required": [name], "properties": {name: {"type": "string"}}} for name in ("algorithm", "kind")
    ]
    made["not"] = {
        "required": ["items", "input"],
        "properties": {"items": {"type": "array"}, "input": {"type": "object"}},
    }
    made["$defs"]["Input"]["anyOf"] = [{"required": [source]} for source in SOURCES]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:bellwren:job:v1",
        **made,
        "title": "Bellwren job document, version 1",
        "description": "A JSON file of this form at specs/<name>.json in the jobs bucket starts a job.",
        "examples": list(EXAMPLES),
    }


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    described = {"description": field["description"]}
    value = {name: rule for name, rule in field.items() if name != "description"}
    return {"anyOf": [value, {"type": "null"}], **described}


def text() -> str:
    """The schema as it stands in the repository."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _plain(part: Any) -> Any:
    """Without pydantic's titles, which repeat the names, and defaults that say that nothing is given."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {}
    for name, value in part.items():
        if name == "title" and isinstance(value, str):
            continue
        if name == "default" and (value is None or isinstance(value, dict)):
            continue
        kept[name] = _plain(value)
    return kept


if __name__ == "__main__":
    SCHEMA_PATH.parent.mkdir(exist_ok=True)
    SCHEMA_PATH.write_text(text(), encoding="utf-8")
