"""The executor on a real deployment: what it costs, and that programs written for others run on it."""

from __future__ import annotations

import concurrent.futures
import time

import pytest

from bellwren import Cloud


def test_futures_of_a_deployment_behave_as_those_of_the_standard_library(cloud: Cloud) -> None:
    def fail(text: str) -> None:
        raise LookupError(text)

    with cloud.executor(max_workers=1) as executor:
        future = executor.submit(pow, 2, exp=5)
        failing = executor.submit(fail, "not there")
        done, pending = concurrent.futures.wait([future, failing], timeout=60)
        assert not pending
        assert {one.result() for one in done if not one.exception()} == {32}
        with pytest.raises(LookupError, match="not there"):
            failing.result()
        assert list(executor.map(lambda x, y: x * y, range(5), range(5), timeout=60)) == [0, 1, 4, 9, 16]
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, 1)


def test_a_thousand_submits_take_at_most_twice_a_map_of_a_thousand(cloud: Cloud) -> None:
    numbers = range(1_000)
    quiet = {"progress": False, "workers": 2}
    cloud.map(lambda x: x + 1, range(4), **quiet).result()  # both workers are warm now
    began = time.monotonic()
    assert cloud.map(lambda x: x + 1, numbers, **quiet).result() == [x + 1 for x in numbers]
    mapped_s = time.monotonic() - began
    jobs = len(cloud.jobs())
    began = time.monotonic()
    with cloud.executor(max_workers=2) as executor:
        futures = [executor.submit(lambda x: x + 1, x) for x in numbers]
        assert [future.result() for future in concurrent.futures.as_completed(futures)]
    submitted_s = time.monotonic() - began
    assert [future.result() for future in futures] == [x + 1 for x in numbers]
    assert len(cloud.jobs()) - jobs <= 10
    # Timings of a shared machine vary; a job for each submit would take minutes.
    assert submitted_s <= 2 * mapped_s + 2, (submitted_s, mapped_s)
