"""From functions and items to a document: everything is judged before anything is uploaded."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any, BinaryIO

import pytest

import bellwren
from bellwren.deployment import Deployment
from bellwren.errors import PayloadError, SpecError, VersionMismatch
from bellwren.options import Options
from bellwren.submission import by_number, check_python, label, make_document, parameters_payload

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


class Jobs:
    """A jobs bucket in memory that notes every upload."""

    bucket = "jobs"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: list[str] = []

    def head(self, key: str) -> Any:
        return self.objects.get(key)

    def upload(self, key: str, data: bytes | BinaryIO) -> None:
        self.uploads.append(key)
        self.objects[key] = data if isinstance(data, bytes) else data.read()


class Cloud:
    """What a submission sees of a cloud."""

    def __init__(self, **fields: Any) -> None:
        self.jobs_store = Jobs()
        self.deployment = Deployment(
            stage="test",
            jobs_bucket="jobs",
            data_bucket="data",
            records_bucket="",
            models_bucket="",
            max_workers=4,
            worker_memory_mb=(512,),
            **{"python": HERE, **fields},
        )


def document(cloud: Any, function: Any, items: Any, **options: Any) -> dict[str, Any]:
    return make_document("map", {"map": function}, items, Options.of(options), cloud)


def test_equal_functions_and_items_are_uploaded_once() -> None:
    cloud = Cloud()
    big = bytes(100_000)

    def function(x: int) -> int:
        return x + len(big)

    first = document(cloud, function, [1, 2])
    assert len(cloud.jobs_store.uploads) == 3  # the function, the items and their index
    assert document(cloud, function, [1, 2]) == first
    document(cloud, function, [3])
    assert len(cloud.jobs_store.uploads) == 5
    assert cloud.jobs_store.objects[first["payload"]["map"]["key"]]


def test_the_index_of_items_is_uploaded_after_them() -> None:
    cloud = Cloud()
    key = document(cloud, abs, [1])["items_payload"]["key"]
    uploads = cloud.jobs_store.uploads
    assert uploads.index(key) < uploads.index(f"{key}.index")


def test_what_is_wrong_with_the_options_is_told_before_anything_is_uploaded() -> None:
    cloud = Cloud()
    with pytest.raises(SpecError) as raised:
        document(cloud, abs, [1], workers=0, tolerate=3)
    assert {fault.field for fault in raised.value.faults} == {"workers", "tolerate"}
    assert cloud.jobs_store.uploads == []


def test_an_iterator_that_raises_leaves_nothing() -> None:
    def source() -> Any:
        yield 1
        raise LookupError("source broke")

    cloud = Cloud()
    with pytest.raises(LookupError):
        document(cloud, abs, source())
    assert cloud.jobs_store.uploads == []


def test_a_package_that_workers_lack_is_named_with_the_requirement_to_pass() -> None:
    import click

    def styled(text: str) -> str:
        return click.style(text)

    cloud = Cloud(worker_packages=("obstore", "cloudpickle"))
    wanted = rf"'click'.*requirements=\['click=={version('click')}'\]"
    with pytest.raises(PayloadError, match=wanted):
        document(cloud, styled, ["a"])
    assert cloud.jobs_store.uploads == []
    assert document(Cloud(worker_packages=None), styled, ["a"])
    assert document(Cloud(worker_packages=("click",)), styled, ["a"])


def test_another_python_is_refused_before_anything_is_packed() -> None:
    check_python(Cloud().deployment)
    with pytest.raises(VersionMismatch, match=rf"this is Python {HERE}.* run Python 3\.9"):
        check_python(Cloud(python="3.9").deployment)


def test_an_input_in_storage_is_named_and_not_read() -> None:
    cloud = Cloud()
    made = document(cloud, len, bellwren.lines("s3://bucket/books/"))
    assert made["input"]["lines"] == "s3://bucket/books/"
    assert len(cloud.jobs_store.uploads) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("str.upper", "str.upper"), ("<lambda>", "lambda"), ("é ü", "function"), ("x" * 99, "x" * 64)],
)
def test_a_function_is_measured_under_a_label_of_its_name(name: str, expected: str) -> None:
    assert label(name) == expected


@pytest.mark.parametrize("given", [-1, True])
def test_a_number_of_partitions_that_cannot_be_one_is_refused(given: Any) -> None:
    with pytest.raises(SpecError, match=r"partitions: found .*; allowed: how many there are"):
        by_number("partitions", given)
    assert by_number("shards", 2) == [None, None]
    assert by_number("shards", "ab") == "ab"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([[1], [2, 3]], "lists of equal length"),
        ({"a": 1}, "is a dict"),
        (True, "is a bool"),
        ([1.0, float("nan")], "not finite"),
        (float("inf"), "not finite"),
    ],
)
def test_parameters_that_cannot_be_trained_are_refused_before_anything_is_stored(
    value: Any, why: str
) -> None:
    jobs: Any = Jobs()
    with pytest.raises(PayloadError, match=rf"parameters\['w'\].*{why}"):
        parameters_payload({"w": value}, jobs)
    assert not jobs.uploads


def test_no_function_is_said_to_be_none() -> None:
    with pytest.raises(PayloadError, match=r"a function was expected, found .*None"):
        document(Cloud(), None, [1])
