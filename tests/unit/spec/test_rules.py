"""Rules between the fields: what goes with what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bellwren.errors import SpecError
from bellwren.spec import KINDS, parse
from bellwren.spec.available import AVAILABLE_INPUTS
from bellwren.spec.sections import SOURCES

from .documents import BUNDLE, CODE, OWN_MAP, PICKLE, WORDCOUNT, faults, read

BSP: dict[str, Any] = {"bellwren": 1, "kind": "bsp", "code": CODE, "step": "m:s", "partitions": 4}
SERVER: dict[str, Any] = {
    "bellwren": 1,
    "kind": "parameter_server",
    "code": CODE,
    "train": "m:t",
    "shards": 4,
}


def builtin(algorithm: str, **more: Any) -> dict[str, Any]:
    return {"bellwren": 1, "algorithm": algorithm, "input": {"lines": "s3://bucket/in/"}, **more}


def test_neither_algorithm_nor_functions_is_one_fault() -> None:
    assert set(faults({"bellwren": 1, "items": []})) == {"algorithm"}


def test_a_misspelt_algorithm_is_recognised() -> None:
    fault = faults(builtin("wordcuont"))["algorithm"]
    assert "did you mean `wordcount`?" in fault.allowed
    assert set(faults(builtin("my-own"))) == {"algorithm"}


def test_functions_without_a_kind_are_told_the_likely_one() -> None:
    fault = faults({**OWN_MAP, "kind": None, "reduce": "m:r"})["kind"]
    assert 'with map and reduce it is "map_reduce"' in fault.allowed
    assert 'with step it is "bsp"' in faults({**BSP, "kind": None})["kind"].allowed


@pytest.mark.parametrize(
    ("kind", "needed"),
    [("map", {"map"}), ("map_reduce", {"map", "reduce"}), ("bsp", {"step"}), ("parameter_server", {"train"})],
)
def test_a_kind_needs_its_functions(kind: str, needed: set[str]) -> None:
    found = faults({"bellwren": 1, "kind": kind, "items": []})
    assert {field for field in found if field not in ("items", "input")} == needed


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        ({**OWN_MAP, "reduce": "m:r"}, "reduce"),
        ({**OWN_MAP, "combine": "m:c"}, "combine"),
        ({**OWN_MAP, "step": "m:s"}, "step"),
        ({**OWN_MAP, "key": "m:k"}, "key"),
        ({**OWN_MAP, "payload": {"train": PICKLE}}, "payload.train"),
        ({**BSP, "map": "m:f"}, "map"),
        ({**SERVER, "step": "m:s"}, "step"),
    ],
)
def test_a_function_of_another_kind_is_refused(document: dict[str, Any], wrong: str) -> None:
    assert set(faults(document)) == {wrong}


def test_a_function_is_given_once() -> None:
    assert set(faults({**OWN_MAP, "payload": {"map": PICKLE}})) == {"map"}
    assert set(faults({"bellwren": 1, "kind": "sort", "payload": {}, "items": []})) == {"payload"}


def test_entries_need_code_and_code_needs_entries() -> None:
    assert set(faults({**OWN_MAP, "code": None})) == {"code"}
    assert (
        "because wordcount is built in" in faults({**WORDCOUNT, "kind": "map", "map": "m:f"})["code"].allowed
    )
    pickled = {"bellwren": 1, "kind": "map", "payload": {"map": PICKLE}, "items": [], "code": CODE}
    assert set(faults(pickled)) == {"code"}
    assert set(faults({"bellwren": 1, "kind": "sort", "items": [], "code": CODE})) == {"code"}


def test_a_builtin_algorithm_runs_as_its_own_kind_only() -> None:
    assert '"map_reduce" for wordcount' in faults(builtin("wordcount", kind="map"))["kind"].allowed
    assert '"bsp" or "parameter_server" for sgd' in faults(builtin("sgd", kind="map"))["kind"].allowed


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        ({**OWN_MAP, "partitions": 4}, {"partitions"}),
        ({**OWN_MAP, "max_supersteps": 4, "resident": False}, {"max_supersteps", "resident"}),
        ({**BSP, "staleness": 3, "shards": 2}, {"staleness", "shards"}),
        ({**SERVER, "resident": True}, {"resident"}),
        ({**WORDCOUNT, "parameters": {"w": 1}}, {"parameters"}),
        ({**SERVER, "parameters": {"w": 1}, "parameters_payload": PICKLE}, {"parameters"}),
    ],
)
def test_options_of_another_kind_are_refused(document: dict[str, Any], wrong: set[str]) -> None:
    assert set(faults(document)) == wrong


@pytest.mark.parametrize("kind", ["bsp", "parameter_server", "sort"])
def test_a_kind_that_the_engine_lacks_is_said_to_be_so(kind: str) -> None:
    document = {
        "bsp": BSP,
        "parameter_server": SERVER,
        "sort": {"bellwren": 1, "kind": "sort", "input": {"lines": "s3://bucket/in/"}},
    }[kind]
    with pytest.raises(SpecError) as caught:
        parse(json.dumps(document).encode(), available_kinds=("map",))
    (fault,) = caught.value.faults
    assert (fault.field, fault.found) == ("kind", f'"{kind}"')
    assert "this version cannot run the kind yet" in fault.allowed
    read(document)


def test_an_algorithm_whose_kind_the_engine_lacks_names_the_kind() -> None:
    with pytest.raises(SpecError) as caught:
        parse(json.dumps(builtin("pagerank")).encode(), available_kinds=("map",))
    (fault,) = caught.value.faults
    assert fault.found == '"bsp", the kind of pagerank'


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_an_input_that_the_engine_lacks_is_said_to_be_so(source: str) -> None:
    document = {
        **OWN_MAP,
        "items": None,
        "input": {source: "s3://bucket/in/" if source != "job" else "a-job"},
    }
    with pytest.raises(SpecError) as caught:
        parse(json.dumps(document).encode(), available_inputs=AVAILABLE_INPUTS - {source})
    fault = next(fault for fault in caught.value.faults if fault.field == f"input.{source}")
    assert f"this version cannot read `{source}` yet" in fault.allowed


@pytest.mark.parametrize("kind", ["sort", "bsp", "parameter_server"])
def test_a_job_is_the_input_of_those_kinds_alone_that_read_results(kind: str) -> None:
    document = {"sort": {"bellwren": 1, "kind": "sort"}, "bsp": BSP, "parameter_server": SERVER}[kind]
    with pytest.raises(SpecError) as caught:
        parse(json.dumps({**document, "input": {"job": "a-job"}}).encode(), available_kinds=KINDS)
    assert any(
        (fault.field, fault.allowed) == ("input.job", 'only in kind "map" or "map_reduce"')
        for fault in caught.value.faults
    )


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"items": None}, "input"),
        ({"input": {"lines": "s3://bucket/in/"}}, "items"),
        ({"items_payload": {**PICKLE, "count": 1}}, "items_payload"),
        ({"items": None, "input": {}}, "input"),
        ({"items": None, "input": {"chunk": "1MB"}}, "input"),
        ({"items": None, "input": {"lines": "s3://bucket/a", "csv": "s3://bucket/b"}}, "input.csv"),
    ],
)
def test_data_comes_from_exactly_one_place(change: dict[str, Any], wrong: str) -> None:
    assert set(faults({**OWN_MAP, **change})) == {wrong}


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        ({**BSP, "items": [1]}, {"items"}),
        ({**BSP, "partitions": [1], "input": {"lines": "s3://bucket/in/"}}, {"partitions"}),
        ({**SERVER, "shards": None}, {"input"}),
        (builtin("pagerank", input=None), {"input"}),
        (builtin("pagerank", input=None, partitions=3), {"input"}),
        (builtin("pagerank", partitions=[1, 2]), {"partitions"}),
    ],
)
def test_data_in_parts_comes_from_exactly_one_place(document: dict[str, Any], wrong: set[str]) -> None:
    assert set(faults(document)) == wrong


def test_an_int_says_how_many_parts_there_are_beside_any_source() -> None:
    read({**BSP, "input": {"lines": "s3://bucket/in/"}})
    read({**BSP, "items_payload": {**PICKLE, "count": 4}, "partitions": None})
    read(builtin("kmeans", partitions=8))


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ({"lines": "s3://bucket/in/", "columns": ["a"]}, "input.columns"),
        ({"lines": "s3://bucket/in/", "delimiter": ","}, "input.delimiter"),
        ({"parquet": "s3://bucket/in/", "encoding": "utf-8"}, "input.encoding"),
        ({"objects": "s3://bucket/in/", "header": True}, "input.header"),
        ({"csv": "s3://bucket/in/", "newline": "\n"}, "input.newline"),
        ({"csv": "s3://bucket/in/", "delimiter": '"'}, "input.quote"),
        ({"csv": "s3://bucket/in/", "delimiter": ",,"}, "input.delimiter"),
        ({"csv": "s3://bucket/in/", "delimiter": "\n"}, "input.delimiter"),
        ({"csv": "s3://bucket/in/", "columns": ["a", "a"]}, "input.columns"),
        ({"csv": "s3://bucket/in/", "columns": []}, "input.columns"),
        ({"csv": "s3://bucket/in/", "encoding": None}, "input.encoding"),
        ({"csv": "s3://bucket/in/", "header": ["a"]}, "input.header"),
        ({"lines": "s3://bucket/in/", "encoding": "utf-99"}, "input.encoding"),
        ({"lines": "s3://bucket/in/", "encoding": "hex"}, "input.encoding"),
        ({"lines": "s3://bucket/in/", "encoding": "../x\0"}, "input.encoding"),
        ({"lines": "s3://bucket/in/", "newline": ""}, "input.newline"),
        ({"lines": "s3://bucket/in/", "newline": {"hex": "0"}}, "input.newline.hex"),
        ({"lines": "s3://bucket/in/", "compression": "lzma"}, "input.compression"),
        ({"lines": "s3://bucket/in/", "chunk": 0}, "input.chunk"),
        ({"lines": "s3://bucket/in/", "chunk": "32"}, "input.chunk"),
        ({"lines": "s3://bucket/in/", "chunk": "5GiB"}, "input.chunk"),
        ({"lines": "s3://bucket/in/", "chunk": True}, "input.chunk"),
        ({"job": "Not An Id"}, "input.job"),
        ({"job": "a-job", "chunk": "1MB"}, "input.chunk"),
    ],
)
def test_options_fit_the_format_of_the_input(section: dict[str, Any], field: str) -> None:
    assert set(faults({**OWN_MAP, "items": None, "input": section})) == {field}


def test_a_builtin_algorithm_reads_certain_formats() -> None:
    assert (
        "lines, which are what wordcount reads"
        in faults(builtin("wordcount", input={"parquet": "s3://bucket/a"}))["input.parquet"].allowed
    )
    read({"bellwren": 1, "algorithm": "wordcount", "items": ["some text"]})


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("s3://bucket/in/", "s3://bucket/in/out/"),
        ("s3://bucket/in/", "s3://bucket/in/"),
        ("s3://bucket/in/", "s3://bucket/in"),
        ("s3://bucket/in", "s3://bucket/in/out"),
        ("s3://bucket/in", "s3://bucket/in"),
        ("s3://bucket", "s3://bucket/out/"),
        ("s3://bucket/", "s3://bucket/out/"),
        ("s3://bucket/out/part-00000.jsonl", "s3://bucket/out/"),
    ],
)
def test_an_output_inside_of_the_input_is_refused(source: str, output: str) -> None:
    assert set(faults({**WORDCOUNT, "input": {"lines": source}, "output": {"uri": output}})) == {"output.uri"}


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("s3://bucket/in/", "s3://bucket/in2/"),
        ("s3://bucket/in", "s3://bucket/in2/"),
        ("s3://bucket/in/", "s3://other/in/out/"),
        ("s3://bucket/data/in.txt", "s3://bucket/data/"),
        ("s3://bucket/data/in/", "s3://bucket/data/"),
        ("s3://bucket/data/part-list.txt", "s3://bucket/data/"),
    ],
)
def test_an_output_beside_the_input_is_fine(source: str, output: str) -> None:
    read({**WORDCOUNT, "input": {"lines": source}, "output": {"uri": output}})


def test_raw_output_is_for_sorts() -> None:
    assert set(faults({**WORDCOUNT, "output": {"format": "raw"}})) == {"output.format"}


LINES = {"lines": "s3://bucket/in/"}
BLOCKS = {"blocks": "s3://bucket/in/", "chunk": 100}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"items": [2, 1], "output": {"format": "raw"}}, "output.format"),
        ({"input": LINES, "output": {"format": "parquet"}}, "output.format"),
        ({"input": {**LINES, "newline": "\n\n"}}, "input.newline"),
        ({"input": LINES, "params": {"record_bytes": 100}}, "params.record_bytes"),
        ({"items": [2, 1], "params": {"key_bytes": 1}}, "params.key_bytes"),
        ({"input": BLOCKS, "params": {"record_bytes": 30}}, "input.chunk"),
        ({"input": {"csv": "s3://bucket/in/"}}, "input.csv"),
    ],
    ids=["raw-items", "rows", "newline", "record-of-lines", "key-of-items", "chunk", "no-order"],
)
def test_a_sort_is_told_what_does_not_fit_its_records(document: dict[str, Any], field: str) -> None:
    assert set(faults({"bellwren": 1, "kind": "sort", **document})) == {field}


@pytest.mark.parametrize(
    ("document", "format_"),
    [
        ({"input": LINES}, "raw"),
        ({"input": {**LINES, "newline": "\n\n"}, "output": {"format": "jsonl"}}, "jsonl"),
        ({"input": BLOCKS, "params": {"record_bytes": 50, "key_bytes": 10}}, "raw"),
        ({"items": [2, 1]}, "jsonl"),
    ],
    ids=["lines", "paragraphs", "blocks", "items"],
)
def test_a_sort_gives_back_bytes_where_it_read_some(document: dict[str, Any], format_: str) -> None:
    assert read({"bellwren": 1, "kind": "sort", **document}).output.format == format_


def test_parquet_needs_rows() -> None:
    bsp = {"bellwren": 1, "kind": "bsp", "code": CODE, "step": "m:s", "partitions": 2}
    assert set(faults({**bsp, "output": {"format": "parquet"}})) == {"output.format"}
    assert read({**WORDCOUNT, "output": {"format": "parquet"}}).output.format == "parquet"


@pytest.mark.parametrize(
    ("algorithm", "params", "field", "found", "allowed"),
    [
        ("grep", {}, "params.pattern", "nothing", "grep needs it"),
        ("grep", {"pattern": "("}, "params.pattern", '"("', "can compile (missing )"),
        ("grep", {"pattern": "x" * 1001}, "params.pattern", "1,001 characters", "1 to 1,000"),
        ("grep", {"pattern": "x{99999999999}"}, "params.pattern", "x{9", "can compile"),
        (
            "grep",
            {"pattern": "x", "ignore_case": "true"},
            "params.ignore_case",
            '"true" (text)',
            "without quotes",
        ),
        ("wordcount", {"patern": "x"}, "params.patern", "an unknown parameter", "did you mean `pattern`?"),
        ("wordcount", {"pattern": "[a-z]*"}, "params.pattern", "[a-z]*", "never matches the empty text"),
        (
            "sort",
            {"record_bytes": 10, "key_bytes": 11},
            "params.key_bytes",
            "11",
            "at most record_bytes, which is 10",
        ),
        ("kmeans", {"k": 0}, "params.k", "0", "from 1 to 10,000 (number of clusters)"),
        ("kmeans", {"k": 2.5}, "params.k", "2.5", "a whole number"),
        ("kmeans", {"k": True}, "params.k", "true", "a whole number"),
        ("sgd", {"loss": "hinge"}, "params.loss", '"hinge"', '"logistic" or "squared"'),
        ("sgd", {"learning_rate": 0}, "params.learning_rate", "0", "greater than 0"),
        ("pagerank", {"damping": 1}, "params.damping", "1", "greater than 0 and less than 1"),
        ("pagerank", {"tolerance": "small"}, "params.tolerance", '"small"', "a number from 0 to 1"),
    ],
)
def test_parameters_of_a_builtin_algorithm_are_checked(
    algorithm: str, params: dict[str, Any], field: str, found: str, allowed: str
) -> None:
    every = faults(builtin(algorithm, params=params))
    assert set(every) == {field}
    assert found in every[field].found
    assert allowed in every[field].allowed


def test_parameters_of_the_users_own_functions_are_free() -> None:
    anything = {"k": None, "deep": {"list": [1, "x", {}]}, "": 0}
    assert read({**OWN_MAP, "params": anything}).params == anything


def test_requirements_come_with_the_bundle_that_was_built_of_them() -> None:
    with pytest.raises(SpecError) as caught:
        read({**OWN_MAP, "requirements": ["networkx>=3"]})
    (fault,) = caught.value.faults
    assert fault.field == "requirements"
    assert "`bellwren submit`" in fault.allowed
    read({**OWN_MAP, "requirements": ["networkx>=3"], "bundle": BUNDLE})
    with pytest.raises(SpecError) as caught:
        read({**OWN_MAP, "bundle": BUNDLE})
    assert [fault.field for fault in caught.value.faults] == ["bundle"]
    with pytest.raises(SpecError) as caught:
        read({**OWN_MAP, "requirements": ["networkx"], "bundle": {**BUNDLE, "sha256": "0" * 64}})
    assert [fault.field for fault in caught.value.faults] == ["bundle.key"]
