"""A document may have any name that S3 allows, also one that the Rust library cannot express."""

from __future__ import annotations

import json

import pytest

from bellwren import layout
from bellwren.control.prepare import prepare
from tests.engine.harness import Engine


@pytest.mark.parametrize(
    "name", ["a b+c%25é日本.json", "x//y.json", "../z.json", "a\x01.json", ".json", "a\\b.json", "%2F.json"]
)
def test_a_document_of_any_name_becomes_a_job_and_says_which(engine: Engine, name: str) -> None:
    document = {"bellwren": 1, "algorithm": "grep", "items": ["a"], "params": {"pattern": "a"}}
    key = layout.SPECS + name
    engine.store.put(key, json.dumps(document).encode())
    event = {
        "detail-type": "Object Created",
        "detail": {
            "bucket": {"name": engine.buckets["jobs"]},
            "object": {"key": key, "sequencer": f"{engine.buckets['jobs']}{name}"},
        },
    }
    answer = prepare(event, f"arn:{name}", "execution", engine.deployment())
    assert answer["action"] == "RUN"
    assert json.loads(engine.store.get(layout.submitted(key)))["job_id"] == answer["job_id"]
