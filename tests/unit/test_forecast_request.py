"""What a client asks the prediction function: a document or an algorithm, measured and judged, and nothing started."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bellwren
from bellwren.deployment import Deployment
from bellwren.errors import BellwrenError, SpecError
from bellwren.forecast_request import ask, question
from bellwren.options import Options
from bellwren.store import Entry

DEPLOYMENT = Deployment("t", "jobs", "data", "records", "models", max_workers=50, worker_memory_mb=(1769,))


class Bucket:
    """A listing, and as much of a store as is asked for."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.bucket = "data"

    def list(self, prefix: str = "") -> list[Entry]:
        return [Entry(key, size, '"1"') for key, size in self.sizes.items() if key.startswith(prefix)]

    list_verbatim = list

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        return b"0 1\n" * ((min(end, self.sizes[key]) - start) // 4)

    def head(self, key: str) -> Entry | None:
        return next((entry for entry in self.list() if entry.key == key), None)

    def find_json(self, key: str) -> Any:
        return None


def cloud(**sizes: int) -> Any:
    bucket = Bucket(**sizes)
    return SimpleNamespace(deployment=DEPLOYMENT, store=lambda name: bucket, jobs_store=bucket)


def asked(what: Any, given: Any = None, options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    sizes = more.pop("sizes", {})
    return question(cloud(**sizes), what, given, Options(**(options or {})), **more)


DOCUMENT: dict[str, Any] = {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://data/in/"}}


def test_a_document_is_measured_where_its_input_lies() -> None:
    found = asked(DOCUMENT, sizes={"in/a": 4000, "in/b": 400, "other": 1})
    assert found["profile"]["bytes"] == 4400
    assert found["profile"]["objects"] == 2
    assert found["profile"]["params"] == {"pattern": "[A-Za-z]+", "lower": True}
    assert found["spec"]["workers"] == "auto"


def test_a_document_may_lie_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**DOCUMENT, "deadline_s": 60}))
    for what in (path, str(path)):
        assert asked(what, sizes={"in/a": 4000})["spec"]["deadline_s"] == 60


def test_faults_of_a_document_are_told_as_when_it_is_submitted() -> None:
    with pytest.raises(SpecError, match="deadline_s"):
        asked({**DOCUMENT, "deadline_s": -1})
    with pytest.raises(
        SpecError, match="allowed: an object, or a prefix below which there are some; nothing to read"
    ):
        asked(DOCUMENT)
    with pytest.raises(SpecError, match="JSON object"):
        asked([])


def test_packages_are_not_built_for_a_forecast() -> None:
    assert (
        asked({**DOCUMENT, "requirements": ["no-such-package"]}, sizes={"in/a": 4})["profile"]["bytes"] == 4
    )


def test_items_in_the_document_are_counted() -> None:
    given = {"bellwren": 1, "algorithm": "grep", "params": {"pattern": "a"}, "items": ["a", "bb"]}
    assert asked(given)["profile"]["items"] == 2


def test_an_algorithm_alone_takes_sizes_and_options() -> None:
    found = asked("wordcount", options={"deadline_s": 9.0}, size_bytes=2e9)
    assert found["profile"]["bytes"] == 2_000_000_000
    assert found["spec"]["deadline_s"] == 9.0
    assert found["spec"]["kind"] == "map_reduce"


def test_every_built_in_algorithm_can_be_asked_for() -> None:
    for name in ("grep", "wordcount", "sort", "kmeans", "sgd", "pagerank", "valsort"):
        params = {"pattern": "a"} if name == "grep" else {}
        assert asked(name, options={"params": params}, size_bytes=1e9)["spec"]["algorithm"] == name


def test_an_own_function_is_asked_for_by_its_label() -> None:
    found = asked("resize", [1, 2, 3], options={"params": {"width": 100}})
    assert found["profile"] == {"bytes": 0, "items": 3, "params": {"width": 100}}
    assert asked("resize", items=7)["profile"]["items"] == 7


def test_an_input_is_looked_up() -> None:
    found = asked("wordcount", bellwren.lines("s3://data/in/"), sizes={"in/a": 4000})
    assert found["profile"]["bytes"] == 4000


@pytest.mark.parametrize("size", [-1, float("nan"), "4GB", True, 1e400])
def test_a_size_that_is_none_is_named(size: Any) -> None:
    with pytest.raises(SpecError, match="bytes: found"):
        asked("wordcount", size_bytes=size)


def test_options_are_judged() -> None:
    with pytest.raises(SpecError, match="workers"):
        asked("wordcount", options={"workers": -1}, size_bytes=1)
    with pytest.raises(SpecError, match="params"):
        asked("wordcount", options={"params": {"colour": "red"}}, size_bytes=1)


def test_results_of_a_job_that_has_none_are_no_input() -> None:
    with pytest.raises(SpecError, match=r"input\.job"):
        asked({**DOCUMENT, "input": {"job": "books-3f2a9c0d1e4b5a69"}, "algorithm": "own", "map": "m:f",
               "kind": "map", "code": {"uri": "s3://jobs/c.zip", "sha256": "0" * 64}})  # fmt: skip


class Functions:
    """A client of Lambda that answers what it is told to."""

    def __init__(self, answer: Any, error: str = "") -> None:
        self.answer, self.error = answer, error

    def invoke(self, **given: Any) -> dict[str, Any]:
        self.given = given
        failed = {"FunctionError": self.error} if self.error else {}
        return {"Payload": io.BytesIO(json.dumps(self.answer).encode()), **failed}


def test_the_prediction_function_answers() -> None:
    functions = Functions({"choice": {"workers": 3}})
    assert ask(functions, "predict", {"spec": {}, "profile": {}}).choice["workers"] == 3
    assert functions.given["FunctionName"] == "predict"


def test_a_prediction_function_that_fails_is_named() -> None:
    functions = Functions({"errorType": "KeyError", "errorMessage": "'x'"}, error="Unhandled")
    with pytest.raises(BellwrenError, match="prediction function 'predict' failed: KeyError"):
        ask(functions, "predict", {})
