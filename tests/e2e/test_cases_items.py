"""Reported faults of comparable systems, group B: items, arguments and results."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from tests.e2e import jobs

ONE = {"progress": False, "workers": 1}


def test_b01_nothing_under_a_prefix_is_refused_and_pairs_of_none_are_an_empty_dict(cloud: Cloud) -> None:
    empty = cloud.map_reduce(lambda x: [], [1, 2], lambda key, values: 0, **ONE)
    missing = bellwren.lines(f"s3://{cloud.deployment.data_bucket}/no-such-prefix/")
    refused = cloud.map_reduce(lambda line: [(line, 1)], missing, lambda key, values: 0, **ONE)
    assert empty.result() == {}
    with pytest.raises(bellwren.SpecError, match="no-such-prefix"):
        refused.result()


def test_b01_a_job_without_items_invokes_no_worker(cloud: Cloud) -> None:
    job = cloud.map(abs, [], **ONE)
    assert job.result() == []
    plan = cloud.jobs_store.get_json(f"jobs/{job.id}/plan.json")
    assert plan["rounds"] == 0


def test_b03_an_iterator_that_raises_starts_no_job(cloud: Cloud) -> None:
    def source() -> Any:
        yield 1
        raise RuntimeError("source broke")

    before = len(cloud.jobs())
    with pytest.raises(RuntimeError, match="source broke"):
        cloud.map(str, source())
    assert len(cloud.jobs()) == before
    assert cloud.map(str, (i for i in range(3)), **ONE).result() == ["0", "1", "2"]


def test_b04_arrays_and_tables_are_items(cloud: Cloud) -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")

    def look(value: Any) -> Any:
        return len(value) if hasattr(value, "columns") else value + 1

    rows = cloud.map(lambda row: row.sum(), np.arange(6).reshape(3, 2), **ONE)
    items = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame(), np.float32(1), np.array(2), np.array([])]
    mixed = cloud.map(look, items, **ONE)
    assert rows.result() == [1, 5, 9]
    two, none, scalar, zero_d, empty = mixed.result()
    assert (two, none) == (2, 0)
    assert (scalar, scalar.dtype) == (2, np.float32)
    assert (zero_d, zero_d.shape) == (3, ())
    assert empty.shape == (0,)


def test_b06_e03_requests_and_history_grow_with_tasks_and_not_with_items(
    deployment: Any, cloud: Cloud
) -> None:
    job = cloud.map(lambda x: x, range(10_000), progress=False, workers=2)
    assert job.result() == list(range(10_000))
    parts = list(cloud.jobs_store.list(f"jobs/{job.id}/results/"))
    assert len(parts) <= 2 * 16  # the stated bound: sixteen tasks for each worker
    assert jobs.events(deployment, job.id) < 100


def test_b07_items_and_results_of_any_size_pass_every_limit_of_the_service(cloud: Cloud) -> None:
    sizes = [200_000, 262_100, 262_144, 300_000, 6_291_556, 20_000_000]
    job = cloud.map(lambda s: (len(s), s), ["x" * n for n in sizes], **ONE)
    small = cloud.map(lambda i: "e" * 2000, range(500), **ONE)
    assert job.result() == [(n, "x" * n) for n in sizes]
    assert small.result() == ["e" * 2000] * 500


def strict(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_b08_b10_special_numbers_int_keys_and_tuples_come_back_and_no_document_holds_them(
    cloud: Cloud,
) -> None:
    texts = ["nan", "inf", "-inf", "-0.0", "1e308", "5e-324"]
    params = {"progress": False, "workers": 1, "params": {"rate": 0.5}}
    job = cloud.map(
        lambda x: {"loss": float(x)} if isinstance(x, str) else x[1], [*texts, {1: (2, 3)}], **params
    )
    *losses, pair = job.result()
    assert pair == (2, 3)
    values = [loss["loss"] for loss in losses]
    assert math.isnan(values[0])
    assert values[1:] == [float(text) for text in texts[1:]]
    assert math.copysign(1, values[3]) == -1
    documents = [e.key for e in cloud.jobs_store.list(f"jobs/{job.id}/") if e.key.endswith(".json")]
    assert len(documents) >= 5
    for key in documents:
        strict(cloud.jobs_store.get(key).decode())


def test_b11_numpy_integers_are_keys_like_others(cloud: Cloud) -> None:
    np = pytest.importorskip("numpy")
    job = cloud.map_reduce(
        lambda x: [(x % 3, int(x)), (int(x) % 3, 0)], np.arange(9), lambda key, values: sum(values), **ONE
    )
    assert job.result() == {0: 9, 1: 12, 2: 15}


def test_b14_values_reach_reduce_in_item_order_however_often_it_is_run(cloud: Cloud) -> None:
    def pairs(item: Any) -> list[tuple[str, Any]]:
        return [("text", item)] if isinstance(item, str) else [("sum", item)]

    def fold(key: str, values: Any) -> Any:
        return "".join(values) if key == "text" else sum(values)

    items = [1e16, 1.0, -1e16, 1.0] * 50 + list("hello")
    expected = {"text": "hello", "sum": sum([1e16, 1.0, -1e16, 1.0] * 50)}
    for _ in range(3):
        assert cloud.map_reduce(pairs, items, fold, progress=False, workers=2).result() == expected
