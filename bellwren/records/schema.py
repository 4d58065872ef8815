"""The published JSON Schema of the execution record, generated from `document`. ``python -m bellwren.records.schema``
writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from bellwren.records.document import RecordDocument, StageRecord
from bellwren.records.version import READS, SCHEMA

SCHEMA_PATH = Path(__file__).resolve().parent.parent / "schema" / f"record-v{SCHEMA}.schema.json"


def schema() -> dict[str, Any]:
    """The schema, in the draft of 2020-12. It holds for every number that is read, and allows fields beyond it."""
    for part in (StageRecord, RecordDocument):
        with_config(ConfigDict(use_attribute_docstrings=True, strict=True))(part)
    made = _untitled(TypeAdapter[TypedDict](RecordDocument).json_schema())  # type: ignore[valid-type]
    made["properties"]["schema"] |= {"enum": list(READS)}
    for name in ("workers", "runtime_s"):
        made["properties"][name] |= {"exclusiveMinimum": 0}
    made["properties"]["algorithm"] |= {"minLength": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:bellwren:record:v{SCHEMA}",
        **made,
        "title": f"Bellwren execution record, version {SCHEMA}",
    }


def text() -> str:
    """The schema as it stands in the repository."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _untitled(part: Any) -> Any:
    """Without pydantic's titles, which repeat the names; a field of that name is no title."""
    if isinstance(part, list):
        return [_untitled(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _untitled(value)
        for name, value in part.items()
        if not (name == "title" and isinstance(value, str))
    }


if __name__ == "__main__":
    SCHEMA_PATH.write_text(text(), encoding="utf-8")
