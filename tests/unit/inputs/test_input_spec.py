"""What users say about inputs, in Python and in the job document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.errors import SpecError
from bellwren.inputs.spec import InputSpec


def faults(document: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        InputSpec.from_dict(document)
    return {fault.field: f"{fault.found} | {fault.allowed}" for fault in caught.value.faults}


def test_the_document_of_the_readme_is_an_input() -> None:
    spec = InputSpec.from_dict({"lines": "s3://bucket/books/", "chunk": "32MB"})
    assert spec == bellwren.lines("s3://bucket/books/")
    assert (spec.bucket, spec.key, spec.chunk_bytes) == ("bucket", "books/", 32_000_000)
    assert spec.to_dict() == {"lines": "s3://bucket/books/", "chunk": 32_000_000}


@pytest.mark.parametrize(
    "spec",
    [
        bellwren.lines("s3://bkt/k", "1MiB", encoding=None, newline=b"\xff\x00", compression="none"),
        bellwren.lines("s3://bkt/k", encoding="UTF16", newline="\r\n", errors="replace"),
        bellwren.csv("s3://bkt/k", header=False, columns=["a", "é"], delimiter=";", quote=None),
        bellwren.csv("s3://bkt/k", quoted_newlines=False, compression="gzip"),
        bellwren.parquet("s3://bkt/k/", 5, columns=["a.b"]),
        bellwren.objects("s3://bkt"),
        bellwren.blocks("s3://bkt/k", 100),
    ],
)
def test_every_input_survives_the_document(spec: InputSpec) -> None:
    assert InputSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_every_fault_is_told_at_once_with_its_field() -> None:
    wrong = {"quote": "", "header": 1, "newline": "\n", "colums": []}
    found = faults({"csv": "http://x", "chunk": "32M", "encoding": "klingon", **wrong})
    assert set(found) == {
        *("input.csv", "input.chunk", "input.encoding", "input.quote", "input.header", "input.newline"),
        "input.colums",
    }
    assert "no such option for csv; it knows chunk, header, columns" in found["input.colums"]


def test_one_format_is_needed_and_only_one() -> None:
    assert "exactly one of lines, csv, parquet, objects, blocks" in faults({"chunk": 1})["input"]
    assert faults({"lines": "s3://bkt/a", "csv": "s3://bkt/a"})["input"].startswith("lines and csv")


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"blocks": "s3://bkt/k"}, "chunk"),
        ({"lines": "s3://bkt/k", "chunk": 0}, "chunk"),
        ({"lines": "s3://bkt/k", "chunk": True}, "chunk"),
        ({"lines": "s3://bkt/k", "newline": ""}, "newline"),
        ({"lines": "s3://bkt/k", "newline": {"hex": "zz"}}, "newline"),
        ({"lines": "s3://bkt/k", "encoding": "ascii", "newline": "é"}, "newline"),
        ({"lines": "s3://bkt/k", "encoding": "utf-16-le", "newline": b"\n"}, "newline"),
        ({"lines": "s3://bkt/k", "encoding": "utf-16", "newline": b"\n\0"}, "newline"),
        ({"lines": "s3://bkt/k", "encoding": "rot13"}, "encoding"),
        ({"lines": "s3://bkt/k", "encoding": 5}, "encoding"),
        ({"lines": "s3://bkt/k", "compression": "rar"}, "compression"),
        ({"lines": "s3://bkt/k", "errors": "hope"}, "errors"),
        ({"csv": "s3://bkt/k", "encoding": None}, "encoding"),
        ({"csv": "s3://bkt/k", "delimiter": ";", "quote": ";"}, "quote"),
        ({"csv": "s3://bkt/k", "delimiter": ",,"}, "delimiter"),
        ({"csv": "s3://bkt/k", "columns": ["a", "a"]}, "columns"),
        ({"csv": "s3://bkt/k", "columns": "ab"}, "columns"),
        ({"lines": 5}, "lines"),
        ({"lines": "s3:///k"}, "lines"),
    ],
)
def test_what_is_wrong_is_refused_at_its_field(document: dict[str, Any], field: str) -> None:
    assert list(faults(document)) == [f"input.{field}"]


@given(
    st.dictionaries(
        st.sampled_from(
            ["lines", "csv", "chunk", "newline", "columns", "encoding", "quote", "header", "errors"]
        ),
        st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2)
        | st.just("s3://bkt/k"),
    )
)
def test_no_document_is_worse_than_a_spec_error(document: dict[str, Any]) -> None:
    try:
        spec = InputSpec.from_dict(document)
    except SpecError as error:
        assert error.faults  # noqa: PT017
    else:
        assert InputSpec.from_dict(spec.to_dict()) == spec


def test_keys_are_never_decoded() -> None:
    assert bellwren.lines("s3://bkt/a%20b+c?d#e/é").key == "a%20b+c?d#e/é"
