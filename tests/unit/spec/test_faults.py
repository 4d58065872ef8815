"""What a wrong document is told: every fault, with its field, what was found, and what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bellwren.errors import SpecError
from bellwren.spec import parse

from .documents import CODE, OWN_MAP, PICKLE, SHA, WORDCOUNT, faults, read


def test_every_fault_is_told_and_not_just_the_first() -> None:
    wrong = b"""{"bellwren": 2, "algorithm": "wordcount", "input": {"lines": "books/", "chunk": "32", "encodng": "x"},
                 "workers": "4", "memory_mb": true, "retries": 11, "params": {"lower": NaN, "patern": "x"},
                 "wrokers": 4, "tolerate": 1.5, "tolerate": 2}"""
    assert set(faults(wrong)) == {
        "tolerate",
        "params.lower",
        "wrokers",
        "input.encodng",
        "bellwren",
        "input.lines",
        "input.chunk",
        "workers",
        "memory_mb",
        "retries",
    }


def test_a_faulty_value_is_told_once() -> None:
    found = [fault.field for fault in _listed(b'{"bellwren": 1, "algorithm": "wordcount", "workers": NaN}')]
    assert sorted(found) == ["input", "workers"]


def _listed(data: bytes) -> tuple[Any, ...]:
    with pytest.raises(SpecError) as caught:
        parse(data)
    return caught.value.faults


@pytest.mark.parametrize(
    ("change", "field", "found", "allowed"),
    [
        ({"bellwren": 2}, "bellwren", "2", "1, the version"),
        ({"bellwren": "1"}, "bellwren", '"1" (text)', "without quotes"),
        ({"bellwren": True}, "bellwren", "true", "1, the version"),
        (
            {"workers": "4"},
            "workers",
            '"4" (text)',
            '"auto" or a whole number from 1 to 10,000; write it without quotes',
        ),
        ({"workers": True}, "workers", "true", "whole number"),
        ({"workers": None}, "workers", "null", '"auto"'),
        ({"workers": 4.5}, "workers", "4.5", "whole number"),
        ({"workers": 0}, "workers", "0", "from 1"),
        ({"workers": 10_001}, "workers", "10001", "to 10,000"),
        ({"workers": 10**300}, "workers", "a whole number of 997 bits", "to 10,000"),
        ({"workers": "Auto"}, "workers", '"Auto"', '"auto"'),
        ({"workers": [4]}, "workers", "a list of 1 value", "whole number"),
        ({"memory_mb": 127}, "memory_mb", "127", "from 128 to 10,240"),
        ({"memory_mb": 10_241}, "memory_mb", "10241", "from 128 to 10,240"),
        ({"memory_mb": "1GB"}, "memory_mb", '"1GB"', "from 128 to 10,240"),
        ({"deadline_s": 0}, "deadline_s", "0", "greater than 0"),
        ({"deadline_s": "300"}, "deadline_s", '"300" (text)', "without quotes"),
        ({"deadline_s": 1e12}, "deadline_s", "1000000000000.0", "a year"),
        ({"budget_usd": -0.5}, "budget_usd", "-0.5", "greater than 0"),
        ({"budget_usd": False}, "budget_usd", "false", "greater than 0"),
        ({"objective": "speed"}, "objective", '"speed"', '"cost" or "time"'),
        ({"retries": -1}, "retries", "-1", "from 0 to 10"),
        ({"retries": 11}, "retries", "11", "from 0 to 10"),
        ({"tolerate": 1.01}, "tolerate", "1.01", "from 0 to 1"),
        ({"tolerate": "5%"}, "tolerate", '"5%"', "from 0 to 1"),
        ({"item_timeout_s": 901}, "item_timeout_s", "901", "at most 900"),
        ({"item_timeout_s": 0}, "item_timeout_s", "0", "greater than 0"),
        ({"name": ""}, "name", '""', "1 to 200 characters"),
        ({"name": "x" * 201}, "name", '"' + "x" * 90 + '"… (201 characters)', "1 to 200 characters"),
        ({"name": 5}, "name", "5", "text of 1 to 200"),
        ({"algorithm": "a/b"}, "algorithm", '"a/b"', "letters, digits"),
        ({"algorithm": 5}, "algorithm", "5", "grep, wordcount"),
        ({"retry_on": "ValueError"}, "retry_on", '"ValueError"', "names of types"),
        ({"retry_on": ["ValueError", "no name"]}, "retry_on[1]", '"no name"', "exception type"),
        ({"retry_on": ["E"] * 51}, "retry_on", "a list of 51 values", "at most 50"),
        ({"params": []}, "params", "a list of 0 values", "an object"),
        ({"context": {"a": [1]}}, "context.a", "a list of 1 value", "a number, or true or false"),
        ({"context": {"a": None}}, "context.a", "null", "a number, or true or false"),
        ({"context": {"": 1}}, 'context[""]', 'the name ""', "1 to 100 characters"),
        ({"context": {str(i): 1 for i in range(101)}}, "context", "an object with 101 fields", "at most 100"),
        ({"requirements": ["-r x.txt"]}, "requirements[0]", '"-r x.txt"', "options of pip"),
        ({"env": {"1A": "x"}}, 'env["1A"]', 'the name "1A"', "does not start with a digit"),
        ({"env": {"BELLWREN_STAGE": "x"}}, "env.BELLWREN_STAGE", 'the name "BELLWREN_STAGE"', "platform"),
        ({"env": {"A": "\x00"}}, "env.A", "text", "text of up to 4,096 characters"),
        ({"items": "abc"}, "items", '"abc"', "a list of any JSON values"),
        (
            {"input": "s3://bucket/in/"},
            "input",
            '"s3://bucket/in/"',
            'an object with a source, such as {"lines"',
        ),
        ({"output": "s3://bucket/out/"}, "output", '"s3://bucket/out/"', "an object such as"),
        ({"output": {"format": "csv"}}, "output.format", '"csv"', '"jsonl"'),
        ({"kind": "mapreduce"}, "kind", '"mapreduce"', '"map_reduce"'),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    change: dict[str, Any], field: str, found: str, allowed: str
) -> None:
    fault = faults({**WORDCOUNT, **change})[field]
    assert fault.found == found
    assert allowed in fault.allowed


@pytest.mark.parametrize(
    ("uri", "allowed"),
    [
        ("books/in", "files on your own machine must be copied to S3 first"),
        ("/home/me/books.txt", "files on your own machine"),
        ("S3://bucket/in", "lower case"),
        ("s3a://bucket/in", "write s3:// for s3a://"),
        ("https://books.s3.eu-west-1.amazonaws.com/in/a.txt", "write s3://books/in/a.txt"),
        ("gs://bucket/in", "an S3 address such as s3://bucket/folder/"),
        ("s3://", "3 to 63"),
        ("s3:///in", "3 to 63"),
        ("s3://My_Bucket/in", "lower-case"),
        ("s3://192.168.0.1/in", "no IP address"),
        ("s3://a..b/in", "hyphens and dots"),
        ("s3://bucket/" + "x" * 1025, "at most 1,024 bytes"),
        ("s3://bucket/" + "é" * 513, "at most 1,024 bytes"),
        ("", "an S3 address"),
    ],
)
def test_an_address_that_is_not_in_s3_gets_the_way_there(uri: str, allowed: str) -> None:
    assert allowed in faults({**WORDCOUNT, "input": {"lines": uri}})["input.lines"].allowed


@pytest.mark.parametrize(
    "key", ["", "in/a b.txt", "in/100%25.csv", "é/日本 1.txt", "#?&;'\"<>", " lead", "..", "/x", "a\nb"]
)
def test_a_key_may_hold_any_characters_and_is_never_decoded(key: str) -> None:
    spec = read({**WORDCOUNT, "input": {"lines": f"s3://bucket/{key}"}})
    assert spec.input is not None
    assert spec.input.uri is not None
    assert spec.input.uri.key == key


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("wrokers", "did you mean `workers`?"),
        ("inptu", "did you mean `input`?"),
        ("deadline", "did you mean `deadline_s`?"),
        ("memory", "did you mean `memory_mb`?"),
        ("Budget-USD", "did you mean `budget_usd`?"),
        ("chunk", "`chunk`, which stands in `input`"),
        ("lines", "`lines`, which stands in `input`"),
        ("sha256", "which stands in `code`"),
        ("delimeter", "did you mean `delimiter`, which stands in `input`"),
        ("zzz", "here only bellwren, name"),
    ],
)
def test_an_unknown_field_gets_a_suggestion(name: str, advice: str) -> None:
    fault = faults({**WORDCOUNT, name: 1})[name if "-" not in name else f'["{name}"]']
    assert fault.found == "an unknown field"
    assert advice in fault.allowed


def test_an_unknown_field_inside_of_a_section_is_told_with_its_path() -> None:
    found = faults(
        {**WORDCOUNT, "input": {"lines": "s3://bucket/in/", "chunks": 5}, "output": {"url": "s3://bucket/o"}}
    )
    assert "`chunk`" in found["input.chunks"].allowed
    assert "`uri`" in found["output.url"].allowed
    assert (
        "`workers`, which stands in the top of the document"
        in faults({**WORDCOUNT, "input": {"lines": "s3://bucket/in/", "workers": 5}})["input.workers"].allowed
    )


@pytest.mark.parametrize("document", [[], [1], None, True, 5, "x"])
def test_a_document_that_is_no_object_is_refused(document: Any) -> None:
    assert "one JSON object" in faults(json.dumps(document).encode())[""].allowed


def test_an_object_that_is_no_job_document_says_what_it_lacks() -> None:
    found = faults({"hello": "world"})
    assert found["bellwren"].found == "nothing"
    assert (
        "built-in algorithm (grep, wordcount, sort, kmeans, sgd, pagerank or valsort)"
        in found["algorithm"].allowed
    )


def test_values_of_environment_variables_are_not_repeated() -> None:
    found = faults({**WORDCOUNT, "env": {"TOKEN": 12345, "KEY": "secret\x00" + "s" * 5000}})
    assert "12345" not in str(found)
    assert "secret" not in str(found)


def test_missing_parts_of_code_are_named() -> None:
    assert faults({**OWN_MAP, "code": {"uri": "s3://bucket/c.zip"}})["code.sha256"].found == "nothing"
    assert (
        "64 hexadecimal" in faults({**OWN_MAP, "code": {**CODE, "sha256": SHA[:-1]}})["code.sha256"].allowed
    )
    assert (
        "one object" in faults({**OWN_MAP, "code": {**CODE, "uri": "s3://bucket/dir/"}})["code.uri"].allowed
    )
    assert "nothing" in faults({**OWN_MAP, "code": {}})["code.uri"].found


@pytest.mark.parametrize(
    ("entry", "advice"),
    [
        ("mymodule.tokenise", 'write "mymodule:tokenise"'),
        ("pkg.mod.f()", 'write "pkg.mod:f"'),
        ("mymodule.py:f", "without .py"),
        ("my-module:f", '"module:function"'),
        ("mymodule:", '"module:function"'),
        (":f", '"module:function"'),
        ("m:f:g", '"module:function"'),
        ("class:f", '"module:function"'),
        ("lambda x: x", '"module:function"'),
    ],
)
def test_an_entry_that_is_no_module_and_function_is_set_right(entry: str, advice: str) -> None:
    assert advice in faults({**OWN_MAP, "map": entry})["map"].allowed


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": "code/" + "0" * 64}, "payload.map.key"),
        ({"key": "specs/x.json"}, "payload.map.key"),
        ({"python": "3"}, "payload.map.python"),
        ({"python": "3.11.4"}, "payload.map.python"),
        ({"cloudpickle": ""}, "payload.map.cloudpickle"),
        ({"sha256": "x"}, "payload.map.sha256"),
        ({"entry": "m:f"}, "payload.map.entry"),
    ],
)
def test_a_pickle_is_whole_and_named_by_its_checksum(change: dict[str, str], field: str) -> None:
    document = {"bellwren": 1, "kind": "map", "payload": {"map": {**PICKLE, **change}}, "items": [1]}
    assert field in faults(document)


@pytest.mark.parametrize("value", ["x", True, [[1], [1, 2]], [1, [2]], {"a": 1}, [None], None])
def test_parameters_that_are_no_arrays_are_refused(value: Any) -> None:
    server = {"bellwren": 1, "kind": "parameter_server", "code": CODE, "train": "m:t", "shards": 4}
    assert "parameters.w" in faults({**server, "parameters": {"w": value}})


def test_hundreds_of_faults_are_counted_and_the_first_are_listed() -> None:
    with pytest.raises(SpecError) as caught:
        read({**WORDCOUNT, **{f"field {number}": 1 for number in range(1_000)}})
    *listed, last = caught.value.faults
    assert len(listed) == 100
    assert last.found == "900 more faults"
    assert len(str(caught.value)) < 100_000


def test_the_error_reads_as_a_list_of_fields() -> None:
    with pytest.raises(SpecError) as caught:
        read({**WORDCOUNT, "workers": "4"})
    assert str(caught.value).splitlines()[1:] == [
        '  workers: found "4" (text); allowed: "auto" or a whole number from 1 to 10,000; write it without quotes'
    ]
