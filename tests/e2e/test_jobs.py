"""One real job, end to end, on a real deployment with IAM enforced."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud, layout
from tests.e2e import jobs

CODE = """
def square(x):
    return x * x

def words(line):
    return [(word, 1) for word in line.split()]

def total(key, values):
    return sum(values)
"""

AWKWARD_NAMES = ["a b", "a+b", "100%25", "é/日本 1", "x=1&y=?#'", " lead", "trail ", "..", "dotted.name.v1"]


@pytest.fixture(scope="module")
def cloud(deployment: Any) -> Cloud:
    environment = pytest.MonkeyPatch()
    for name, value in deployment.cloud.environment().items():
        environment.setenv(name, value)
    yield bellwren.connect()
    environment.undo()


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def test_a_dropped_document_becomes_word_counts_of_real_text(
    deployment: Any, cloud: Cloud, shared_data: Path
) -> None:
    prefix = unique("texts") + "/"
    for file in sorted((shared_data / "text").iterdir()):
        cloud.data_store.put(prefix + file.name, file.read_bytes())
    document = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{prefix}"},
        "workers": 2,
    }
    key = f"specs/{unique('books')}.json"
    jobs.drop(deployment, key, json.dumps(document).encode())
    job_id = jobs.became(cloud, key)
    status = jobs.ended(cloud, job_id)
    assert status["status"] == "SUCCEEDED", status["error"]
    counts = cloud.job(job_id).result()
    expected = json.loads((shared_data / "answers.json").read_text())["text_gutenberg ALL"]
    assert sum(counts.values()) == expected["words"]
    assert len(counts) == expected["distinct"]
    assert Counter(counts).most_common(10) == [tuple(pair) for pair in expected["top10"]]
    assert digest_of(counts) == expected["sha256_of_sorted_counts"]


def digest_of(counts: dict[str, int]) -> str:
    """The checksum that the answers hold: a line for each word in order, with its count."""
    spelled = "\n".join(f"{word} {count}" for word, count in sorted(counts.items()))
    return hashlib.sha256(spelled.encode()).hexdigest()


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_a_document_of_any_name_starts_its_job(deployment: Any, cloud: Cloud, name: str) -> None:
    key = f"specs/{uuid.uuid4().hex[:6]}{name}.json"
    jobs.drop(deployment, key, b'{"bellwren": 1, "algorithm": "wordcount", "items": ["a b a"]}')
    job_id = jobs.became(cloud, key)
    assert jobs.ended(cloud, job_id)["status"] == "SUCCEEDED"
    assert cloud.job(job_id).result() == {"a": 2, "b": 1}


def test_an_execution_started_with_a_document_runs_it(deployment: Any, cloud: Cloud) -> None:
    code = jobs.upload_code(cloud, mine=CODE)
    document = {
        "bellwren": 1,
        "kind": "map",
        "code": code,
        "map": "mine:square",
        "items": [1, 2, 3],
    }
    name = unique("started")
    jobs.start(deployment, {"spec": document}, name)
    assert jobs.ended(cloud, name)["status"] == "SUCCEEDED"
    assert jobs.lines_of(cloud.job(name)) == [1, 4, 9]


def test_an_execution_started_with_a_uri_runs_the_document_there(deployment: Any, cloud: Cloud) -> None:
    code = jobs.upload_code(cloud, mine=CODE)
    cloud.data_store.put(prefix := unique("in") + "/lines.txt", b"a b\r\nb\nc")
    document = {
        "bellwren": 1,
        "kind": "map_reduce",
        "code": code,
        "map": "mine:words",
        "reduce": "mine:total",
        "combine": "mine:total",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{prefix}"},
        "output": {"uri": f"s3://{cloud.deployment.data_bucket}/{unique('out')}/"},
    }
    where = unique("documents") + "/job.json"
    cloud.data_store.put(where, json.dumps(document).encode())
    name = unique("by-uri")
    jobs.start(deployment, {"spec_uri": f"s3://{cloud.deployment.data_bucket}/{where}"}, name)
    status = jobs.ended(cloud, name)
    assert status["status"] == "SUCCEEDED", status["error"]
    assert status["results_uri"] == document["output"]["uri"]
    assert cloud.job(name).result() == {"a": 1, "b": 2, "c": 1}


def test_grep_gives_the_matching_lines_in_the_order_of_the_input(deployment: Any, cloud: Cloud) -> None:
    folder = unique("logs") + "/"
    cloud.data_store.put(folder + "1.log", b"ok 1\nERROR two\nok 3\nerror four")
    cloud.data_store.put(folder + "2.log", b"Error five\n")
    document = {
        "bellwren": 1,
        "algorithm": "grep",
        "params": {"pattern": "error", "ignore_case": True},
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{folder}"},
    }
    job = cloud.submit(document, progress=False)
    assert job.result() == ["ERROR two", "error four", "Error five"]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        (b'{"bellwren": 1, "algorithm": "wordcount", "itmes": ["a"]}', "itmes", "items"),
        (b'{"bellwren": 1, "algorithm": "wordcount", "items": [NaN]}', "items[0]", "NaN"),
        (b'\xef\xbb\xbf{"bellwren": 1}', "", "byte order mark"),
        (b'{"bellwren": 1, "bellwren": 1}', "bellwren", ""),
        (b'{"bellwren": 1, "algorithm": "wordcount", "items": ["a"], "workers": "4"}', "workers", "10,000"),
        (b"<html>not json</html>", "", "JSON"),
        (b"", "", "empty"),
        (b"x" * 10_000_000, "", ""),
    ],
    ids=["unknown-field", "nan", "bom", "duplicate-key", "wrong-type", "html", "empty", "ten-megabytes"],
)
def test_a_wrong_document_is_refused_with_what_is_wrong(
    deployment: Any, cloud: Cloud, body: bytes, field: str, said: str
) -> None:
    key = f"specs/{unique('wrong')}.json"
    jobs.drop(deployment, key, body)
    job_id = jobs.became(cloud, key)
    status = jobs.ended(cloud, job_id)
    assert status["status"] == "REJECTED"
    faults = status["error"]["faults"]
    assert any(fault["field"] == field and said in str(fault) for fault in faults), faults
    assert all(fault["found"] and fault["allowed"] for fault in faults)
    assert not list(cloud.jobs_store.list(f"jobs/{job_id}/results/"))
    assert cloud.jobs_store.head(f"jobs/{job_id}/plan.json") is None
    with pytest.raises(bellwren.SpecError) as raised:
        cloud.job(job_id).result()
    assert [fault.as_dict() for fault in raised.value.faults] == faults


def test_every_fault_of_a_document_is_listed_not_just_the_first(deployment: Any, cloud: Cloud) -> None:
    name = unique("faults")
    jobs.start(deployment, {"spec": {"bellwren": 2, "kind": "mapp", "workers": -1, "tolerate": 7}}, name)
    faults = jobs.ended(cloud, name)["error"]["faults"]
    assert {"bellwren", "kind", "workers", "tolerate"} <= {fault["field"] for fault in faults}


def test_an_execution_that_names_no_document_says_what_it_wants(deployment: Any, cloud: Cloud) -> None:
    name = unique("nothing")
    jobs.start(deployment, {"hello": 1}, name)
    status = jobs.ended(cloud, name)
    assert status["status"] == "REJECTED"
    assert "spec_uri" in status["error"]["message"]


@pytest.mark.parametrize("start", [[1], "text", 3])
def test_an_execution_started_with_no_object_is_refused_too(
    deployment: Any, cloud: Cloud, start: Any
) -> None:
    name = unique("no-object")
    jobs.start(deployment, start, name)
    assert jobs.ended(cloud, name)["status"] == "REJECTED"


def test_an_input_that_is_not_there_is_refused_by_name(deployment: Any, cloud: Cloud) -> None:
    uri = f"s3://{cloud.deployment.data_bucket}/{unique('nowhere')}/"
    job = cloud.submit({"bellwren": 1, "algorithm": "wordcount", "input": {"lines": uri}}, progress=False)
    with pytest.raises(bellwren.SpecError, match="nowhere"):
        job.result()


def test_the_output_of_an_earlier_job_is_not_mistaken_for_this_ones(cloud: Cloud) -> None:
    document = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "items": ["a"],
        "output": {"uri": f"s3://{cloud.deployment.data_bucket}/{unique('out')}/"},
    }
    assert cloud.submit(document, progress=False).result() == {"a": 1}
    again = cloud.submit({**document, "items": ["b"]}, progress=False)
    with pytest.raises(bellwren.SpecError, match=r"output\.uri"):
        again.result()


def test_no_item_means_an_empty_result_and_no_worker(cloud: Cloud) -> None:
    job = cloud.submit({"bellwren": 1, "algorithm": "wordcount", "items": []}, progress=False)
    assert job.result() == {}
    assert [stage["invocations"] for stage in job.record["stages"]] == [0]


def test_a_function_that_does_not_load_fails_the_job_and_says_why(cloud: Cloud) -> None:
    code = jobs.upload_code(cloud, mine="import no_such_module_anywhere\n")
    document = {"bellwren": 1, "kind": "map", "code": code, "map": "mine:f", "items": [1, 2]}
    with pytest.raises(bellwren.JobFailed, match="no_such_module_anywhere"):
        cloud.submit(document, progress=False).result()


def test_code_that_is_not_what_its_hash_says_is_never_loaded(cloud: Cloud) -> None:
    code = jobs.upload_code(cloud, mine=CODE)
    cloud.jobs_store.put(f"code/{code['sha256']}", b"something else")
    document = {"bellwren": 1, "kind": "map", "code": code, "map": "mine:square", "items": [1]}
    with pytest.raises(bellwren.JobFailed, match="nothing was loaded"):
        cloud.submit(document, progress=False).result()


def test_a_job_that_succeeded_leaves_no_working_keys(cloud: Cloud) -> None:
    job = cloud.submit({"bellwren": 1, "algorithm": "wordcount", "items": ["a b"]}, progress=False)
    job.result()
    assert list(cloud.jobs_store.list(layout.work(job.id))) == []


def test_each_job_leaves_one_record_where_the_learning_loop_looks(cloud: Cloud) -> None:
    job = cloud.submit(
        {"bellwren": 1, "algorithm": "wordcount", "items": ["a b"], "context": {"dataset": "toy"}},
        progress=False,
    )
    job.result()
    records = cloud.store(cloud.deployment.records_bucket)
    keys = [entry.key for entry in records.list("records/wordcount/") if job.id in entry.key]
    assert len(keys) == 1
    record = records.get_json(keys[0])
    assert record == job.record
    assert record["outcome"] == "SUCCEEDED"
    assert record["context"] == {"dataset": "toy"}
    assert record["runtime_s"] > 0
    assert record["cost_usd"] == pytest.approx(sum(record["cost"].values()))
