"""Reported faults of comparable systems, group A: functions that are shipped wrongly, too late, or not at all.

Each test names its case. What needs no cloud is tested beside the payload (``tests/unit/payload``).
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import operator
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

import bellwren
from bellwren import Cloud

ONE = {"progress": False, "workers": 1}

HELPER = """
import pandas

K = 3

def f(x):
    return x * K
"""


def stored_bytes(cloud: Cloud) -> int:
    return sum(entry.size for entry in cloud.jobs_store.list("code/"))


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the user's own that lies in the working directory and is installed nowhere."""
    (tmp_path / "own_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_helper")
    sys.modules.pop("own_helper", None)


def test_a01_a14_a_function_of_a_second_file_runs_and_ships_little(
    cloud: Cloud, helper: Any, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("own-dashed", tmp_path / "own_helper.py")
    assert spec is not None
    assert spec.loader is not None
    dashed = importlib.util.module_from_spec(spec)
    sys.modules["own-dashed"] = dashed
    spec.loader.exec_module(dashed)
    before = stored_bytes(cloud)
    jobs = [cloud.map(helper.f, [1, 2], **ONE), cloud.map(lambda x: (helper.f(x), dashed.f(x)), [1], **ONE)]
    assert stored_bytes(cloud) - before < 200_000
    before = stored_bytes(cloud)
    jobs.append(cloud.map(helper.f, [1, 2], **ONE))
    assert stored_bytes(cloud) == before
    assert [job.result() for job in jobs] == [[3, 6], [(3, 3)], [3, 6]]
    del sys.modules["own-dashed"]


def test_a02_both_spellings_of_an_import_behave_alike(cloud: Cloud) -> None:
    import click
    from click import unstyle

    job = cloud.map(lambda x: (unstyle(x), click.unstyle(x)), ["\x1b[31mred\x1b[0m"], **ONE)
    assert job.result() == [("red", "red")]


def test_a03_callables_of_every_kind_run_and_have_a_name(cloud: Cloud) -> None:
    class Adder:
        def __call__(self, x: int) -> int:
            return x + 1

        def two(self, x: int) -> int:
            return x + 2

    kinds: list[tuple[Callable[[Any], Any], Any, Any, str]] = [
        (functools.partial(pow, 2), 3, 8, "pow"),
        (Adder(), 1, 2, "Adder"),
        (Adder().two, 1, 3, "Adder.two"),
        (str.upper, "a", "A", "str.upper"),
        (operator.itemgetter(0), (5,), 5, "itemgetter"),
        (len, ["a"], 1, "len"),
        (int, "3", 3, "int"),
    ]
    for function, item, result, name in kinds:
        job = cloud.map(function, [item], **ONE)
        assert (job.result(), job.name) == ([result], name)


def test_a05_what_refers_to_itself_is_shipped(cloud: Cloud) -> None:
    def outer() -> Callable[[int], int]:
        def fact(n: int) -> int:
            return 1 if n < 2 else n * fact(n - 1)

        return fact

    class Node:
        def make(self) -> Any:
            return Node()

    fact = outer()
    job = cloud.map(lambda item: (fact(item[0]), type(item[1].make()).__name__), [(5, Node())], **ONE)
    assert job.result() == [(120, "Node")]


def test_a07_a_function_is_what_it_was_when_it_was_submitted(cloud: Cloud) -> None:
    jobs = []
    for k in range(3):
        jobs.append(cloud.map(lambda x: x * k, [10], **ONE))
    k = 99
    assert [job.result() for job in jobs] == [[0], [10], [20]]


def test_a09_a_logger_is_shipped_and_what_cannot_be_is_named_before_anything_is_uploaded(
    cloud: Cloud,
) -> None:
    log = logging.getLogger()
    s3 = boto3.client("s3", region_name="us-east-1")
    guard = threading.Lock()
    before = stored_bytes(cloud), len(cloud.jobs())
    with pytest.raises(bellwren.PayloadError, match=r"'s3'.*boto3 client"):
        cloud.map(lambda x: (s3, x)[1], [1])
    with pytest.raises(bellwren.PayloadError, match=r"'guard'.*lock"):
        cloud.map(lambda x: (guard, x)[1], [1])
    assert (stored_bytes(cloud), len(cloud.jobs())) == before
    assert cloud.map(lambda x: (log.info(x), x)[1], [1], **ONE).result() == [1]


def test_a10_a_callable_that_changes_itself_is_as_shipped_for_every_item(cloud: Cloud) -> None:
    class Collector:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def __call__(self, x: int) -> list[int]:
            self.seen.append(x)
            return list(self.seen)

    assert cloud.map(Collector(), range(6), **ONE).result() == [[x] for x in range(6)]


NOTEBOOK = """
import bellwren
cloud = bellwren.connect()
quiet = {"progress": False, "workers": 1}
def job(x): return x * 2
jobs = [cloud.map(job, [10], **quiet)]
def job(x): return x * 3
jobs.append(cloud.map(job, [10], **quiet))
K = 5
def job(x): return x * K
jobs.append(cloud.map(job, [10], **quiet))
K = 6
jobs.append(cloud.map(job, [10], **quiet))
print([one.result() for one in jobs])
"""


def test_a12_a_function_defined_anew_under_its_name_is_a_new_function(cloud: Cloud) -> None:
    import subprocess

    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[20], [30], [50], [60]]", done.stderr


def test_a13_another_python_is_refused_by_both_versions_before_anything_is_unpickled(cloud: Cloud) -> None:
    from bellwren.options import Options
    from bellwren.submission import make_document

    def function(x: int) -> int:
        raise AssertionError("unpickled and run")

    document = make_document("map", {"map": function}, [1], Options(), cloud)
    document["payload"]["map"]["python"] = document["items_payload"]["python"] = "3.9"
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    with pytest.raises(bellwren.SpecError) as raised:
        cloud.submit(document, progress=False).result()
    assert {fault.field for fault in raised.value.faults} == {"payload.map.python", "items_payload.python"}
    assert all(fault.found == "3.9" and here in fault.allowed for fault in raised.value.faults)


def test_a17_a_job_within_a_job_is_refused_at_once(cloud: Cloud) -> None:
    with pytest.raises(bellwren.PayloadError, match=r"'cloud'.*cannot be started from inside another job"):
        cloud.map(lambda n: sum(cloud.map(lambda y: y + 1, range(n)).result()), [2, 3])

    def nested(n: int) -> int:
        import bellwren

        return bellwren.connect().map(abs, range(n)).result()

    job = cloud.map(nested, [2, 3], tolerate=1.0, **ONE)
    assert [one.type for one in job.result()] == ["NestedJob", "NestedJob"]
    assert "cloud.map(function, job)" in job.failures()[0].message
