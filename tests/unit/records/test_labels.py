from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bellwren.records.labels import BadRecord, Label, NotALabel, label, parse

GOOD: dict[str, Any] = {
    "schema": 1,
    "kind": "map",
    "algorithm": "wordcount",
    "outcome": "SUCCEEDED",
    "label": True,
    "workers": 4,
    "memory_mb": 1769,
    "runtime_s": 10.0,
    "bytes": 1000,
    "items": 7,
    "tasks": {"map": 12, "reduce": 3},
    "params": {"k": 10, "pattern": "a.*b", "deep": {"b": 1, "a": 2}, "none": None},
    "context": {"dataset": "books"},
    "cold_starts": 2,
}


def test_a_sound_record_becomes_a_run_with_all_that_is_known_before_it() -> None:
    said = parse(json.dumps(GOOD).encode(), "records/1.json")
    assert isinstance(said, Label)
    assert said.cold
    assert said.execution.properties == {
        "bytes": 1000.0,
        "items": 7.0,
        "memory_mb": 1769.0,
        "slots": 1.0,
        "tasks": 12.0,
        "params.k": 10.0,
        "params.pattern": "a.*b",
        "params.deep": '{"a": 2, "b": 1}',
        "context.dataset": "books",
    }
    assert said.execution.kind("params.k") == "parameter"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\x00" * 9, b"<html>", b'{"n":4,"t":NaN}', b'{"n":4,"t":-1}', b'{"n":4,"t":1e400}', b"[]", b"null",
        b"[" * 100_000, b"\xff", b'{"schema":2}', b'{"schema":0}', b'{"schema":true}',
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused_with_a_reason(content: bytes) -> None:
    with pytest.raises(BadRecord, match=r"records/bad\.json: \S+"):
        parse(content, "records/bad.json")


@pytest.mark.parametrize(
    "change",
    [
        {"runtime_s": 0}, {"runtime_s": -1}, {"runtime_s": "10"}, {"runtime_s": True}, {"runtime_s": 10**400},
        {"workers": 0}, {"workers": None}, {"algorithm": ""}, {"bytes": -1}, {"memory_mb": "big"},
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_never_coerced(change: dict[str, Any]) -> None:
    with pytest.raises(BadRecord):
        label({**GOOD, **change}, "r")


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "FAILED", "runtime_s": 0.01}, {"outcome": "CANCELLED"}, {"outcome": "TIMED_OUT", "runtime_s": 900},
        {"label": False}, {"contended": True}, {"lost_runners": 1},
    ],
)  # fmt: skip
def test_runs_that_failed_or_were_disturbed_are_no_labels(change: dict[str, Any]) -> None:
    with pytest.raises(NotALabel):
        label({**GOOD, **change}, "r")


def test_every_document_that_must_be_refused_is(shared_data: Path) -> None:
    files = sorted((shared_data / "json").glob("n_*.json"))
    assert len(files) > 100
    for path in files:
        with pytest.raises(BadRecord):
            parse(path.read_bytes(), path.name)
