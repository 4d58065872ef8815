"""A job is an input: results flow from job to job in storage, and not through the client."""

from __future__ import annotations

import importlib
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud, TaskFailure
from tests.e2e import jobs

QUIET = {"progress": False, "workers": 2}


def test_jobs_follow_each_other_also_while_the_first_still_runs(cloud: Cloud) -> None:
    def slow(x: int) -> Any:
        import time

        time.sleep(0.05)
        return None if x == 2 else (x, bytes(x))

    first = cloud.map(slow, range(40), **QUIET)
    second = cloud.map(lambda pair: pair and (pair[0] % 3, len(pair[1])), first, **QUIET)
    third = cloud.map_reduce(
        lambda pair: [pair] if pair else [("none", 1)], second, lambda key, values: sum(values), **QUIET
    )
    fourth = cloud.map(lambda pair: pair, third, **QUIET)
    expected = [None if x == 2 else (x % 3, x) for x in range(40)]
    assert second.result() == expected
    assert sorted(second.iter_results()) == list(enumerate(expected))
    totals = {rest: sum(x for x in range(rest, 40, 3) if x != 2) for rest in range(3)} | {"none": 1}
    assert third.result() == totals
    assert dict(fourth.result()) == totals
    assert first.done()


def test_items_that_failed_stay_failures_with_their_exception(cloud: Cloud) -> None:
    def picky(x: int) -> int:
        if x == 3:
            raise KeyError(x)
        return x

    first = cloud.map(picky, range(6), tolerate=0.5, **QUIET)
    second = cloud.map(lambda x: x * 10, first, tolerate=0.5, **QUIET)
    strict = cloud.map(lambda x: x * 10, first, **QUIET)
    result = second.result()
    failure = result.pop(3)
    assert result == [0, 10, 20, 40, 50]
    assert isinstance(failure, TaskFailure)
    assert (failure.index, failure.type) == (3, "KeyError")
    assert second.failures() == [failure]
    with pytest.raises(bellwren.TaskError, match="item 3") as raised:
        strict.result()
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_job_that_failed_fails_the_next_and_is_named(cloud: Cloud) -> None:
    first = cloud.map(lambda x: 1 / x, [0], **QUIET)
    second = cloud.map(abs, first, **QUIET)
    third = cloud.map(abs, second, **QUIET)
    with pytest.raises(bellwren.JobFailed, match=rf"job {second.id}, whose results are the input.*failed"):
        third.result()
    with pytest.raises(bellwren.JobFailed, match=rf"job {first.id}, whose .*ZeroDivisionError"):
        second.result()
    assert not second.logs()


OWN = """
class Point:
    def __init__(self, x):
        self.x = x

def make(x):
    return Point(x)
"""


def test_results_of_the_users_own_classes_are_known_to_the_next_job(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_points.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_points")
    first = cloud.map(own.make, [1, 2], **QUIET)
    assert cloud.map(lambda point: point.x, first, **QUIET).result() == [1, 2]
    # The same from another process, which knows the job by its id alone.
    assert cloud.map(lambda point: point.x + 1, cloud.job(first.id), **QUIET).result() == [2, 3]
    sys.modules.pop("own_points")


def test_a_document_names_a_job_as_its_input(deployment: Any, cloud: Cloud) -> None:
    code = jobs.upload_code(
        cloud, mine="def double(x):\n    return {'twice': 2 * x}\ndef name(x):\n    return x['twice'] + 1\n"
    )
    first = f"first-{uuid.uuid4().hex[:8]}"
    second = f"second-{uuid.uuid4().hex[:8]}"
    document = {"bellwren": 1, "kind": "map", "code": code}
    # The second one first: it waits for a job that is not there yet.
    jobs.start(deployment, {"spec": {**document, "map": "mine:name", "input": {"job": first}}}, second)
    jobs.start(deployment, {"spec": {**document, "map": "mine:double", "items": [1, 2, 3]}}, first)
    status = jobs.ended(cloud, second)
    assert status["status"] == "SUCCEEDED", status
    assert jobs.lines_of(cloud.job(second)) == [3, 5, 7]


def test_a_job_that_waits_is_cancelled_at_once(cloud: Cloud) -> None:
    import time

    first = cloud.map(lambda x: time.sleep(60), [1], **QUIET)
    second = cloud.map(abs, first, **QUIET)
    while not second.status().get("waits_for"):
        time.sleep(0.05)
    assert second.status()["waits_for"] == first.id
    assert "CANCELLED" in second.cancel()
    assert "CANCELLED" in first.cancel()


def test_only_kinds_that_read_results_take_a_job(cloud: Cloud) -> None:
    with pytest.raises(bellwren.SpecError, match=r"input\.job.*only in kind"):
        cloud.submit({"bellwren": 1, "kind": "sort", "input": {"job": "some-job"}})
