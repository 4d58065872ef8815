from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.errors import Fault, SpecError
from bellwren.spec import inspection
from bellwren.spec.inspection import MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_LISTED_FAULTS, MAX_VALUES
from bellwren.spec.strict_json import adopt, read

from .documents import JSON_VALUES


def objections(data: bytes) -> list[Fault]:
    try:
        return list(read(data).faults)
    except SpecError as refused:
        return list(refused.faults)


def only(data: bytes) -> Fault:
    (fault,) = objections(data)
    return fault


@pytest.fixture(scope="module")
def suite(shared_data: Path) -> dict[str, bytes]:
    """JSONTestSuite: y_ must be read, n_ must be refused, i_ may be either."""
    return {file.name: file.read_bytes() for file in sorted((shared_data / "json").glob("*.json"))}


def test_every_document_that_must_be_read_is_read(suite: dict[str, bytes]) -> None:
    good = {name: data for name, data in suite.items() if name.startswith("y_")}
    assert len(good) == 95
    for name, data in good.items():
        reading = read(data)
        assert reading.value == json.loads(data), name
        # RFC 8259 lets names repeat and leaves open what that means; a job document may not.
        expected = ["a"] if "duplicated_key" in name else []
        assert [fault.field for fault in reading.faults] == expected, name


def test_every_document_that_must_be_refused_is_refused(suite: dict[str, bytes]) -> None:
    bad = {name: data for name, data in suite.items() if name.startswith("n_")}
    assert len(bad) == 188
    assert [name for name, data in bad.items() if not objections(data)] == []


def test_no_document_of_the_open_cases_crashes_the_parser(suite: dict[str, bytes]) -> None:
    for name, data in suite.items():
        for fault in objections(data):
            assert fault.found, name
            assert fault.allowed, name
            assert len(str(fault)) < 600, name


@given(JSON_VALUES)
def test_what_python_writes_is_read_back(value: Any) -> None:
    reading = read(json.dumps(value).encode())
    assert reading.faults == ()
    assert repr(reading.value) == repr(json.loads(json.dumps(value)))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_reason(data: bytes) -> None:
    for fault in objections(data):
        assert fault.allowed


@pytest.mark.parametrize(
    ("data", "found", "allowed"),
    [
        (b"", "an empty document", "begins with {"),
        (b" \r\n\t", "only white space", "begins with {"),
        (b"\xef\xbb\xbf{}", "byte order mark", "UTF-8 without a byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "byte order mark of UTF-16", "UTF-8 without"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16", "UTF-8 without"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16", "UTF-8 without"),
        (b'{"a":\n "\xff"}', "byte 0xff at line 2, column 3", "UTF-8"),
        (b"\x1f\x8b\x08\x00", "gzip", "one JSON object"),
        (b"\x80\x05\x95", "pickle", "one JSON object"),
        (b"<!DOCTYPE html>", "line 1, column 1: `<!DOCTYPE html>`", "HTML"),
        (b'{"a": 1,}', "line 1, column 9: `}` after", "leave out the last comma"),
        (b'{"a": [1, 2,]}', "`]}`", "leave out the last comma"),
        (b"{'a': 1}", "`'a': 1}` after `{`", '"double quotes"'),
        (b"{\"a\": 'b'}", "`'b'}`", '"double quotes"'),
        (b'{"a": 1} // note', "`// note`", "nothing may follow"),
        (b'{ // note\n"a": 1}', "`// note\\n", "no comments"),
        (b'{"a": True}', "`True}`", "true, false and null"),
        (b'{"a": None}', "`None}`", "true, false and null"),
        (b'{"a": 1 "b": 2}', '`"b": 2}`', "a comma"),
        (b'{"a" 1}', "`1}`", "a colon"),
        (b'{"a": 1', "the end of the document", "closing } or ]"),
        (b'{"a": "b', '`"b`', 'no closing "'),
        (b'{"a": "C:\\data"}', "`\\data", "\\\\ for a backslash"),
        (b'{"a": "x\ny"}', "`\\ny", "line breaks in a text as \\n"),
        (b'{"a": 01}', "`1}` after", "no leading zero"),
        (b'{"a": +1}', "`+1}`", "no + sign"),
        (b'{"a": 1.}', "`.}`", "both sides of the point"),
        (b'{"a": 1}{"b": 2}', '`{"b": 2}`', "nothing may follow"),
    ],
)
def test_a_text_that_is_no_json_is_explained_by_place_and_way_out(
    data: bytes, found: str, allowed: str
) -> None:
    fault = only(data)
    assert fault.field == ""
    assert found in fault.found
    assert allowed in fault.allowed


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 5000, "1" + "0" * 310]
)
def test_a_number_that_is_not_finite_is_named_by_its_path(number: str) -> None:
    fault = only(b'{"params": {"rates": [0.5, %s]}}' % number.encode())
    assert fault.field == "params.rates[1]"
    assert fault.found.startswith(number[:40])
    assert "finite" in fault.allowed


def test_a_repeated_name_is_named_by_its_path_and_count() -> None:
    fault = only(b'{"params": {"k": 1, "j": 0, "k": 2, "k": 3}}')
    assert (fault.field, fault.found) == ("params.k", 'the name "k" 3 times in one object')


def test_half_a_surrogate_pair_is_refused_in_values_and_in_names() -> None:
    assert [
        fault.field for fault in objections(rb'{"a": "\ud800", "b": ["\udc00x"], "c": "\ud83d\ude00"}')
    ] == ["a", "b[0]"]
    assert only(rb'{"\ud800": 1}').found == '"\\ud800"'


def test_every_objection_is_told_not_just_the_first() -> None:
    assert len(objections(rb'{"a": NaN, "a": 1e999, "b": [Infinity, "\ud800"]}')) == 4


def test_nesting_is_bounded_without_recursion_errors() -> None:
    assert read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH).faults == ()
    for depth in (MAX_DEPTH + 1, 500, 900, 100_000):
        assert f"more than {MAX_DEPTH} levels" in only(b"[" * depth + b"]" * depth).found
        assert f"more than {MAX_DEPTH} levels" in only(b'{"a":' * depth + b"1" + b"}" * depth).found


def test_deep_nesting_in_a_thread_with_a_small_stack_does_not_kill_the_process() -> None:
    found: list[str] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(only(b"[" * 100_000).found))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(found) == 1


@pytest.mark.parametrize("junk", [b"\0", b"a", b"[", b'"', b"{", b"\xff", b"1", b"[],"])
def test_ten_megabytes_of_junk_are_refused_at_once_in_a_few_words(junk: bytes) -> None:
    data = (junk * 10_000_000)[:10_000_000]
    started = time.process_time()
    fault = only(data)
    assert time.process_time() - started < 0.1
    assert fault.found == "more than 8,388,608 bytes"
    assert "8 MiB" in fault.allowed


@pytest.mark.parametrize(
    "junk", [b"\0", b"a", b"[", b'"a', b"{", b"\xff", b"1", b"[],", b"\n", b'\\"', b"NaN,", b'"",']
)
def test_junk_below_the_limit_is_refused_quickly_too(junk: bytes) -> None:
    data = (b"[" + junk * MAX_DOCUMENT_BYTES)[:MAX_DOCUMENT_BYTES]
    started = time.process_time()
    every = objections(data)
    assert time.process_time() - started < 5
    assert len(every) >= 1
    assert sum(len(str(fault)) for fault in every) < 50_000


def test_the_number_of_values_is_bounded_but_marks_inside_of_texts_do_not_count() -> None:
    assert "1,000,000 values" in only(b"[" + b"0," * MAX_VALUES + b"0]").found
    text = '"' + ",[{" * MAX_VALUES + '\\","'
    assert objections(f"[{text}]".encode()) == []


def test_many_faults_are_counted_and_only_the_first_are_put_into_words() -> None:
    reading = read(b"[" + b"NaN," * 5_000 + b"NaN]")
    assert len(reading.faults) == MAX_LISTED_FAULTS
    assert reading.unlisted == 5_001 - MAX_LISTED_FAULTS


def test_a_fault_shows_nothing_that_a_terminal_would_obey() -> None:
    fault = only(b'{"\x1b[31m": 1, "\x1b[31m": \x1b[0m}')
    assert fault.found.isprintable()
    repeated = only(rb'{"\u001b[31m\u202e": 1, "\u001b[31m\u202e": 2}')
    assert repeated.found.isprintable()
    assert repeated.field.isprintable()


class Index:
    def __index__(self) -> int:
        return 7


def test_a_python_value_is_copied_and_its_tuples_become_lists() -> None:
    value = {"a": (1, [2, (3,)]), "b": Index()}
    reading = adopt(value)
    assert reading.value == {"a": [1, [2, [3]]], "b": 7}
    reading.value["a"][1].append(4)
    assert value["a"][1] == [2, (3,)]


@pytest.mark.parametrize(
    ("value", "field", "found"),
    [
        ({"a": {1: 2}}, "a", "a key that is a number"),
        ({"a": {None: 2}}, "a", "a key that is null"),
        ({"a": b"x"}, "a", "a Python builtins.bytes"),
        ({"a": {1, 2}}, "a", "a Python builtins.set"),
        ({"a": [float("nan")]}, "a[0]", "nan"),
        ({"a": float("-inf")}, "a", "-inf"),
        ({"a": 10**5000}, "a", "a whole number of 16,610 bits"),
        ({"a": 1j}, "a", "a Python builtins.complex"),
        ({"a": "\ud800"}, "a", '"\\ud800"'),
    ],
)
def test_what_json_cannot_say_is_a_fault_of_a_python_value(value: Any, field: str, found: str) -> None:
    (fault,) = adopt(value).faults
    assert (fault.field, fault.found) == (field, found)


def test_a_value_that_contains_itself_is_a_fault() -> None:
    loop: list[Any] = [1]
    loop += [loop, {"again": loop}]
    assert [fault.field for fault in adopt(loop).faults] == ["[1]", "[2].again"]


def test_a_small_value_that_unfolds_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = "ha" * 50
    for _ in range(40):
        value = [value] * 10
    with pytest.raises(SpecError, match="8,388,608 bytes"):
        adopt(value)
    monkeypatch.setattr(inspection, "MAX_VALUES", 10_000)
    nothing: Any = []
    for _ in range(40):
        nothing = [nothing] * 10
    with pytest.raises(SpecError, match=r"more than .* values"):
        adopt(nothing)
