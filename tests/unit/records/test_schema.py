from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from bellwren.control.reports import StageReport
from bellwren.records.labels import NotALabel, label
from bellwren.records.record import make_record
from bellwren.records.schema import SCHEMA_PATH, schema, text
from bellwren.records.version import READS, SCHEMA
from tests.unit.records.test_labels import GOOD

VALIDATOR = Draft202012Validator(schema())


def worker(number: int, start: float, end: float) -> dict[str, Any]:
    return {
        "worker": number, "round": 0, "started_at": start, "finished_at": end, "cold": True,
        "requests": {"get": 1, "put": 2, "list": 3}, "supervisor_peak_mb": 50, "tasks": [],
    }  # fmt: skip


def made(*workers: dict[str, Any], status: str = "SUCCEEDED", failed: int = 0) -> dict[str, Any]:
    return dict(
        make_record(
            spec={"name": "n", "algorithm": "a", "kind": "map", "context": {"dataset": "d"}},
            profile={"bytes": 10, "items": 5, "params": {"k": 1}},
            plan={"workers": 2, "memory_mb": 1024, "reason": "r", "stages": {"map": {"tasks": 5}}, "rounds": 1},
            status={
                "job_id": "j", "status": status, "failed": failed,
                "started_at": "2026-11-30T12:00:00+00:00", "finished_at": "2026-11-30T12:01:00+00:00",
            },
            stages={"map": StageReport("map", 5, counts_within_tasks=False, workers=list(workers))},
            forecast={"choice": {"workers": 2, "runtime_s": 9.0}, "model": {"version": "v"}},
        )
    )  # fmt: skip


def test_the_published_schema_is_up_to_date() -> None:
    assert SCHEMA_PATH.read_text("utf-8") == text(), "write it anew: python -m bellwren.records.schema"
    Draft202012Validator.check_schema(schema())


def test_every_field_says_what_it_is() -> None:
    for fields in (schema()["properties"], schema()["$defs"]["StageRecord"]["properties"]):
        assert all(len(field["description"]) > 4 for field in fields.values())


def test_what_finish_writes_passes_the_schema_and_has_no_field_beyond_it() -> None:
    record = json.loads(json.dumps(made(worker(0, 0, 30), worker(1, 1, 30))))
    VALIDATOR.validate(record)
    assert record["schema"] == SCHEMA
    assert set(record) <= set(schema()["properties"])
    assert set(record["stages"][0]) == set(schema()["$defs"]["StageRecord"]["properties"])


@pytest.mark.parametrize("change", [{"schema": 3}, {"runtime_s": 0}, {"workers": "4"}, {"algorithm": ""}])
def test_the_schema_refuses_what_no_reader_takes(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        VALIDATOR.validate({**made(worker(0, 0, 30)), **change})


def test_a_run_whose_workers_waited_for_each_other_is_marked_and_no_label() -> None:
    record = made(worker(0, 0, 30), worker(1, 31, 60))
    assert record["contended"]
    assert record["stages"][0]["queue_s"] == 31
    with pytest.raises(NotALabel):
        label(record, "r")


@pytest.mark.parametrize(("status", "failed"), [("FAILED", 0), ("CANCELLED", 0), ("SUCCEEDED", 1)])
def test_a_run_that_did_not_end_clean_is_marked_and_no_label(status: str, failed: int) -> None:
    record = made(worker(0, 0, 30), status=status, failed=failed)
    assert record["label"] is False
    with pytest.raises(NotALabel):
        label(record, "r")


@pytest.mark.parametrize("number", READS)
def test_every_older_number_is_read(number: int) -> None:
    assert label({**GOOD, "schema": number}, "r").execution.workers == 4


def test_a_record_of_a_newer_version_is_left_alone() -> None:
    with pytest.raises(NotALabel, match=r"schema is 3; this version reads 1, 2"):
        label({**GOOD, "schema": 3}, "r")
