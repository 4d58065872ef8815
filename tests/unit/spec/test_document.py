from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from bellwren.errors import SpecError
from bellwren.inputs.compression import COMPRESSIONS
from bellwren.inputs.encodings import ERROR_HANDLERS
from bellwren.inputs.spec import OPTIONS
from bellwren.spec import from_dict, parse
from bellwren.spec.document import JobSpec
from bellwren.spec.sections import ROLES, Input, Payload
from bellwren.spec.shape import fields

from .documents import CODE, OWN_MAP, PICKLE, SHA, WORDCOUNT, read, reread


def test_three_fields_are_a_whole_job() -> None:
    spec = parse(b'{"bellwren":1,"algorithm":"wordcount","input":{"lines":"s3://bucket/books/"}}')
    assert (spec.kind, spec.name, spec.algorithm) == ("map_reduce", "wordcount", "wordcount")
    assert (spec.workers, spec.memory_mb, spec.objective) == ("auto", "auto", "cost")
    assert (spec.retries, spec.tolerate, spec.deadline_s, spec.item_timeout_s) == (2, 0.0, None, None)
    assert spec.output.format == "jsonl"
    assert spec.input is not None
    assert (spec.input.format, str(spec.input.uri), spec.input.chunk_bytes) == (
        "lines",
        "s3://bucket/books/",
        32_000_000,
    )


def test_the_design_example_holds_with_one_kind_and_one_source() -> None:
    spec = read(
        {
            "bellwren": 1,
            "name": "books",
            "algorithm": "wordcount",
            "kind": "map_reduce",
            "code": CODE,
            "map": "mymodule:tokenise",
            "reduce": "mymodule:total",
            "combine": "mymodule:total",
            "input": {"lines": "s3://bucket/books/", "chunk": "32MB"},
            "output": {"uri": "s3://bucket/out/", "format": "jsonl"},
            "workers": "auto",
            "memory_mb": "auto",
            "deadline_s": 300,
            "budget_usd": 0.5,
            "objective": "cost",
            "retries": 2,
            "tolerate": 0.0,
            "item_timeout_s": 60,
            "params": {"k": 10},
            "context": {"dataset": "books"},
        }
    )
    assert spec.function("map") == {"code": CODE["uri"], "sha256": SHA, "entry": "mymodule:tokenise"}
    assert spec.settled_params() == {"k": 10}


@pytest.mark.parametrize(
    ("algorithm", "kind", "params"),
    [
        ("grep", "map", {"pattern": "error"}),
        ("wordcount", "map_reduce", {}),
        ("sort", "sort", {}),
        ("kmeans", "bsp", {}),
        ("sgd", "bsp", {}),
        ("pagerank", "bsp", {}),
    ],
)
def test_a_builtin_algorithm_needs_no_code_and_implies_its_kind(
    algorithm: str, kind: str, params: dict[str, Any]
) -> None:
    source = {"bellwren": 1, "algorithm": algorithm, "input": {"lines": "s3://bucket/in/"}, "params": params}
    spec = read(source)
    assert spec.kind == kind
    assert spec.builtin
    assert spec.function("map") == {"builtin": algorithm}


def test_sgd_runs_through_the_parameter_server_where_that_is_asked_for() -> None:
    spec = read(
        {"bellwren": 1, "algorithm": "sgd", "kind": "parameter_server", "input": {"csv": "s3://bucket/in/"}}
    )
    assert spec.kind == "parameter_server"


def test_a_sort_needs_no_algorithm_and_gives_back_the_bytes_that_it_read() -> None:
    spec = read({"bellwren": 1, "kind": "sort", "input": {"lines": "s3://bucket/in/"}})
    assert (spec.algorithm, spec.output.format) == ("sort", "raw")


def test_whole_numbers_may_be_written_with_a_point_and_count_as_equal() -> None:
    plain = {**WORDCOUNT, "workers": 4, "retries": 1, "input": {"lines": "s3://bucket/in/", "chunk": 1000}}
    pointed = {
        **plain,
        "bellwren": 1.0,
        "workers": 4.0,
        "retries": 1.0,
        "input": {**plain["input"], "chunk": 1e3},
    }
    assert read(pointed).to_bytes() == read(plain).to_bytes()
    assert type(read(pointed).workers) is int
    own = {**OWN_MAP, "params": {"x": 4.0}}
    assert repr(read(own).params["x"]) == "4.0"


def test_null_means_not_given_where_nothing_is_the_default() -> None:
    absent = {
        "deadline_s": None,
        "budget_usd": None,
        "item_timeout_s": None,
        "items": None,
        "code": None,
        "map": None,
    }
    assert read({**WORDCOUNT, **absent}) == read(WORDCOUNT)


def test_null_keeps_its_meaning_for_the_encoding_of_lines() -> None:
    source = {**WORDCOUNT, "input": {"lines": "s3://bucket/in/", "encoding": None}}
    spec = read(source)
    assert spec.input is not None
    assert spec.input.encoding is None
    assert spec.to_dict()["input"] == {"lines": "s3://bucket/in/", "chunk": 32_000_000, "encoding": None}
    assert reread(spec.to_dict()) == spec


def test_the_checksum_is_of_the_meaning_and_not_of_the_spelling() -> None:
    spelt_out = {**dict(reversed(WORDCOUNT.items())), "kind": "map_reduce", "workers": "auto", "retries": 2}
    spelt_out["input"] = {"chunk": "32MB", "encoding": "UTF8", "lines": "s3://bucket/books/"}
    assert read(spelt_out).sha256() == read(WORDCOUNT).sha256()
    assert read({**WORDCOUNT, "retries": 3}).sha256() != read(WORDCOUNT).sha256()
    assert len(read(WORDCOUNT).sha256()) == 64


def test_the_canonical_form_is_strict_json_of_its_own() -> None:
    document = {**OWN_MAP, "items": [[1]], "params": {"k": {"deep": [1]}}, "context": {"a": "b"}}
    spec = reread(document)
    first = spec.to_dict()
    first["params"]["k"]["deep"].append(2)
    first["items"][0].append(2)
    document["params"]["k"]["deep"].append(3)
    assert spec.to_dict()["params"] == {"k": {"deep": [1]}}
    assert spec.to_dict()["items"] == [[1]]
    assert json.loads(spec.to_bytes()) == spec.to_dict()


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(Exception, match="frozen"):
        read(WORDCOUNT).workers = 5


def test_an_output_is_a_folder_with_or_without_its_slash() -> None:
    without = read({**WORDCOUNT, "output": {"uri": "s3://bucket/out"}})
    assert without == read({**WORDCOUNT, "output": {"uri": "s3://bucket/out/"}})
    assert without.output.uri == "s3://bucket/out/"


def test_functions_of_the_users_own_get_a_label_where_they_have_none() -> None:
    assert read(OWN_MAP).algorithm == "mymodule.tokenise"
    assert read({**OWN_MAP, "algorithm": "tokens"}).algorithm == "tokens"
    assert read({**OWN_MAP, "map": "módulo:función"}).algorithm == "m-dulo.funci-n"
    pickled = {"bellwren": 1, "kind": "map", "payload": {"map": PICKLE}, "items": []}
    assert read(pickled).algorithm == "own-map"


def test_pickled_functions_and_items_are_named_by_their_keys() -> None:
    spec = read(
        {
            "bellwren": 1,
            "kind": "map_reduce",
            "payload": {"map": PICKLE, "reduce": PICKLE},
            "items_payload": {**PICKLE, "count": 3},
        }
    )
    reference = {"payload": PICKLE["key"], "sha256": SHA, "python": "3.11", "cloudpickle": "3.1.2"}
    assert spec.function("map") == spec.function("reduce") == reference
    assert spec.function("combine") is None
    assert spec.items_payload is not None
    assert spec.items_payload.count == 3
    assert not spec.builtin


def test_code_and_pickles_may_stand_side_by_side_for_different_functions() -> None:
    spec = read({**OWN_MAP, "kind": "map_reduce", "payload": {"reduce": PICKLE}})
    assert spec.function("map") == {"code": CODE["uri"], "sha256": SHA, "entry": "mymodule:tokenise"}
    assert spec.function("reduce") == {
        "payload": PICKLE["key"],
        **{key: PICKLE[key] for key in PICKLE if key != "key"},
    }


def test_empty_items_are_a_valid_job() -> None:
    assert read({**OWN_MAP, "items": []}).items == []


def test_the_results_of_a_job_can_be_an_input() -> None:
    spec = read({**OWN_MAP, "items": None, "input": {"job": "books-0123456789abcdef"}})
    assert spec.input is not None
    assert (spec.input.format, spec.input.uri) == ("job", None)
    assert reread(spec.to_dict()) == spec


def test_bsp_and_parameter_server_have_their_defaults_and_no_other_kind_has_them() -> None:
    bsp = read({"bellwren": 1, "kind": "bsp", "code": CODE, "step": "m:s", "partitions": [{"a": 1}, None]})
    assert (bsp.max_supersteps, bsp.resident, bsp.partitions) == (50, True, [{"a": 1}, None])
    assert "max_supersteps" not in read(WORDCOUNT).to_dict()
    server = read({"bellwren": 1, "kind": "parameter_server", "code": CODE, "train": "m:t", "shards": 4})
    assert (server.shards, server.staleness) == (4, None)


@pytest.mark.parametrize("value", [0, -1.5, [], [1, 2], [[1, 2], [3.5, 4]], [[], []], [[[1]], [[2]]]])
def test_parameters_are_numbers_and_rectangular_arrays(value: Any) -> None:
    server = {"bellwren": 1, "kind": "parameter_server", "code": CODE, "train": "m:t", "shards": 4}
    assert read({**server, "parameters": {"w": value}}).parameters == {"w": value}


def test_an_editors_schema_link_is_no_part_of_the_job() -> None:
    assert read({"$schema": "https://example.org/job-v1.schema.json", **WORDCOUNT}) == read(WORDCOUNT)


def test_from_dict_takes_what_python_callers_have() -> None:
    spec = from_dict({**OWN_MAP, "items": (1, (2, 3)), "retry_on": ("ValueError",), "requirements": ()})
    assert spec.items == [1, [2, 3]]
    assert spec.retry_on == ["ValueError"]


def test_from_dict_names_what_is_no_json() -> None:
    with pytest.raises(SpecError) as caught:
        from_dict({**OWN_MAP, "items": [1, {1: 2}, b"x"], "wrokers": 3})
    assert [fault.field for fault in caught.value.faults] == ["items[1]", "items[2]", "wrokers"]


def test_the_model_offers_what_the_readers_of_inputs_know() -> None:
    known = {option for options in OPTIONS.values() for option in options}
    assert set(fields(Input)) == {*OPTIONS, "job", *known}
    assert get_args(Input.model_fields["errors"].annotation) == ERROR_HANDLERS
    assert get_args(Input.model_fields["compression"].annotation) == ("auto", *COMPRESSIONS)


def test_every_role_has_an_entry_and_a_pickle() -> None:
    assert set(ROLES) <= set(fields(JobSpec))
    assert set(ROLES) == set(fields(Payload))
