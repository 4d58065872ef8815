from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from bellwren.errors import SpecError
from bellwren.spec.document import JobSpec
from bellwren.spec.schema import EXAMPLES, SCHEMA_PATH, schema, text
from bellwren.spec.shape import fields, inner

from .documents import WORDCOUNT, mutated_documents, read, reread, valid_documents

VALIDATOR = Draft202012Validator(schema())
lenient = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=100, deadline=None)


def test_the_published_schema_is_up_to_date() -> None:
    published = SCHEMA_PATH.read_text(encoding="utf-8")
    assert published == text(), "write it anew with: python -m bellwren.spec.schema"


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_the_examples_in_the_schema_are_valid_in_both_ways() -> None:
    assert len(EXAMPLES) >= 2
    for example in EXAMPLES:
        VALIDATOR.validate(example)
        read(dict(example))


@lenient
@given(valid_documents())
def test_the_schema_accepts_what_the_parser_accepts(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    VALIDATOR.validate(read(document).to_dict())


@lenient
@given(mutated_documents())
def test_the_parser_refuses_what_the_schema_refuses(document: Any) -> None:
    try:
        reread(document)
    except SpecError:
        return
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    "change",
    [
        {"bellwren": 2},
        {"wrokers": 4},
        {"workers": "4"},
        {"workers": 0},
        {"memory_mb": True},
        {"tolerate": 2},
        {"input": {"lines": "books/"}},
        {"input": {"chunk": "1MB"}},
        {"input": {"lines": "s3://bucket/in/", "chunk": "32"}},
        {"items": [1]},
        {"kind": "mapreduce"},
        {"code": {"uri": "s3://bucket/x.zip"}},
        {"retry_on": "ValueError"},
        {"env": {"A": 5}},
        {"algorithm": None},
    ],
)
def test_the_schema_refuses_common_mistakes_in_an_editor(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**WORDCOUNT, **change})
    with pytest.raises(SpecError):
        read({**WORDCOUNT, **change})


def test_every_field_says_what_it_is_for_and_what_it_may_hold() -> None:
    sections = [
        ("", JobSpec),
        *((name, inner(field)) for name, field in fields(JobSpec).items() if inner(field)),
    ]
    made = schema()
    for _, section in sections:
        assert section is not None
        properties = (
            made["properties"] if section is JobSpec else made["$defs"][section.__name__]["properties"]
        )
        for name in fields(section):
            assert ". Allowed: " in properties[name]["description"], (section, name)


def test_the_schema_is_plain_json() -> None:
    assert json.loads(text())["title"] == "Bellwren job document, version 1"
