"""A deployment that takes code from one place alone."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from bellwren import layout
from bellwren.control.prepare import prepare
from tests.engine.harness import Engine

SHA256 = "0" * 64


@pytest.mark.parametrize(
    ("only", "place", "action"),
    [
        (False, "data", "RUN"),
        (True, "data", "REJECTED"),
        (True, "jobs/other", "REJECTED"),
        (True, "jobs/code", "RUN"),
    ],
)
def test_a_document_may_name_code_from_anywhere_unless_the_deployment_has_one_place_for_it(
    engine: Engine, only: bool, place: str, action: str
) -> None:
    bucket, _, prefix = place.partition("/")
    uri = f"s3://{engine.buckets[bucket]}/{prefix or 'any'}/{SHA256}"
    document = {
        "bellwren": 1,
        "kind": "map",
        "code": {"uri": uri, "sha256": SHA256},
        "map": "m:f",
        "items": [1],
    }
    name = f"job-{uuid.uuid4().hex[:12]}"
    deployment = replace(engine.deployment(), stored_code_only=only)
    answer = prepare({"spec": document}, f"arn:execution:{name}", name, deployment)
    assert answer["action"] == action
    if action == "REJECTED":
        told = engine.store.get_json(layout.status(answer["job_id"]))["error"]
        assert "code.uri" in str(told)
        assert f"s3://{engine.buckets['jobs']}/code/" in str(told)
