"""Whatever lies in the records bucket: it is a label, no label, or damaged, and never an end to all training."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.records.execution import LONGEST_S
from bellwren.records.labels import BadRecord, NotALabel, Parsed, parse_record
from tests.unit.records.test_labels import GOOD

NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([10**400, -(10**400), 5e-324, 1e308])
TEXTS = st.text(st.characters(exclude_categories=()), max_size=9)
ANY = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    *GOOD,
    *("contended", "label", "lost_runners", "most_tasks", "slots", "machine_type", "data", "started_at"),
    *("forecast", "model", "job_id"),
)


def sound(parsed: Parsed) -> None:
    run = parsed.label.execution
    assert run.context.encode()
    assert 0 < run.runtime_s <= LONGEST_S
    assert (parsed.job_id + parsed.started_at).encode("utf-8", "surrogatepass") is not None


@given(st.dictionaries(st.sampled_from(FIELDS), ANY, min_size=1, max_size=3))
def test_a_record_with_anything_in_any_field_is_sorted_one_way_or_another(changed: dict[str, Any]) -> None:
    with contextlib.suppress(BadRecord, NotALabel):
        sound(parse_record(json.dumps({**GOOD, **changed}).encode(), "r"))


@pytest.mark.parametrize(
    "changed",
    [
        {"params": [1]}, {"context": "x"}, {"data": 5}, {"tasks": 10**400}, {"most_tasks": {"a": 10**400}},
        {"started_at": "zzz"}, {"started_at": 5}, {"runtime_s": 1e299}, {"workers": 1e299}, {"bytes": 1e299},
        {"memory_mb": 0}, {"runtime_s": 5e-324}, {"context": {str(number): number for number in range(2001)}},
    ],
)  # fmt: skip
def test_what_cannot_be_is_named_as_such(changed: dict[str, Any]) -> None:
    with pytest.raises(BadRecord, match="r: "):
        parse_record(json.dumps({**GOOD, **changed}).encode(), "r")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("2026-11-30T12:00:00Z", "12:00"),
        ("2026-11-30T14:30:00+02:30", "12:00"),
        ("2026-11-30T12:00:00", "12:00"),
    ],
)
def test_times_of_any_zone_are_in_order(said: str, kept: str) -> None:
    parsed = parse_record(json.dumps({**GOOD, "started_at": said}).encode(), "r")
    assert parsed.started_at == f"2026-11-30T{kept}:00+00:00"


def test_a_text_that_cannot_be_written_and_one_without_end_are_cut_to_what_can() -> None:
    changed = {"context": {"half \ud800": "\ud800", "long": "x" * 10**6}, "machine_type": "\udfff"}
    run = parse_record(json.dumps({**GOOD, **changed}).encode(), "r").label.execution
    assert run.properties["context.half ?"] == "?"
    assert run.properties["machine_type"] == "?"
    assert len(str(run.properties["context.long"])) == 1000
