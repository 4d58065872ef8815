"""Whatever is put in, a document comes out or the reasons why none does."""

from __future__ import annotations

import json
import time
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bellwren.errors import SpecError
from bellwren.spec import JobSpec, from_dict, parse
from bellwren.spec.schema import schema

from .documents import JSON_VALUES, SHA, mutated_documents, read, reread, valid_documents

slow_to_draw = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150, deadline=None)


@slow_to_draw
@given(valid_documents())
def test_the_canonical_form_is_read_back_to_itself(document: dict[str, Any]) -> None:
    spec = read(document)
    again = read(spec.to_bytes())
    assert again == spec
    assert again.to_bytes() == spec.to_bytes()
    assert again.sha256() == spec.sha256()
    assert reread(spec.to_dict()).to_bytes() == spec.to_bytes()
    assert reread(document).to_bytes() == spec.to_bytes()


@slow_to_draw
@given(valid_documents())
def test_what_the_user_gave_stands_in_the_spec(document: dict[str, Any]) -> None:
    written = read(document).to_dict()
    for field in ("items", "params", "context", "env", "name", "workers", "kind", "map", "code", "payload"):
        if document.get(field) is not None:
            assert written[field] == document[field]


def judged(document: Any, way: Any) -> JobSpec | SpecError:
    """The outcome, after checking that refusals are useful, printable and short."""
    started = time.process_time()
    outcome: JobSpec | SpecError
    try:
        outcome = way(document)
    except SpecError as refused:
        outcome = refused
    assert time.process_time() - started < 5
    if isinstance(outcome, SpecError):
        assert outcome.faults
        assert len(str(outcome)) < 120_000
        for fault in outcome.faults:
            assert all(part.isprintable() for part in (fault.field, fault.found, fault.allowed))
            assert fault.found
            assert fault.allowed
            assert len(str(fault)) < 1_200
    return outcome


@slow_to_draw
@given(mutated_documents())
@example({"bellwren": 1, "algorithm": "grep", "params": {"pattern": "(?P<x>"}, "items": []})
@example({"bellwren": 1, "payload": {"map": None}, "kind": "map", "items": []})
@example({"bellwren": 1, "payload": {"map": {"sha256": 5, "key": "x"}}, "kind": "map", "items": []})
@example({"bellwren": 1, "items_payload": {"sha256": SHA, "key": "x"}})
@example({"bellwren": 1, "output": {"uri": None}, "kind": "map", "map": {}, "code": []})
def test_a_document_mutated_anywhere_is_a_spec_or_has_faults(document: Any) -> None:
    from_text = judged(json.dumps(document).encode(), read)
    from_python = judged(document, reread)
    if isinstance(from_text, SpecError):
        assert isinstance(from_python, SpecError)
        assert from_python.faults == from_text.faults
    else:
        assert from_python == from_text


@slow_to_draw
@given(mutated_documents())
def test_what_is_accepted_is_accepted_again_in_its_canonical_form(document: Any) -> None:
    outcome = judged(document, reread)
    if isinstance(outcome, JobSpec):
        assert reread(outcome.to_dict()).to_bytes() == outcome.to_bytes()


_WORDS = sorted(
    {*schema()["properties"], *schema()["$defs"]["Input"]["properties"], "uri", "sha256", "wordcount", "map"}
)


@slow_to_draw
@given(st.dictionaries(st.sampled_from(_WORDS), JSON_VALUES | st.sampled_from(_WORDS), max_size=12))
def test_any_object_of_known_names_is_a_spec_or_has_faults(document: dict[str, Any]) -> None:
    judged(document, reread)
    judged({"bellwren": 1, **document}, from_dict)
    judged(
        {"bellwren": 1, "algorithm": "sort", "input": document, "output": document, "payload": document},
        from_dict,
    )


@slow_to_draw
@given(JSON_VALUES)
def test_any_json_value_is_a_spec_or_has_faults(value: Any) -> None:
    judged(json.dumps(value).encode(), parse)


@given(valid_documents(), st.data())
@slow_to_draw
def test_a_damaged_text_is_a_spec_or_has_faults(document: dict[str, Any], data: st.DataObject) -> None:
    text = bytearray(json.dumps(document).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    judged(bytes(text), read)
