"""The functions that steer a job need no package that is not in their bundle, whatever the job is and reads."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.engine import harness
from tests.engine.control_process import control_process
from tests.engine.harness import Engine
from tests.engine.server import CREDENTIALS, Server
from tests.engine.test_state_machine import (
    _settled,
    a_map_reduce,
    a_map_that_fails,
    a_parameter_server,
    a_sort,
    supersteps,
)

KINDS = (a_map_that_fails, a_map_reduce, a_sort, supersteps, a_parameter_server)


@pytest.fixture(scope="module")
def control(server: Server) -> Iterator[Callable[..., Any]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"AWS_ENDPOINT_URL": server.endpoint, **CREDENTIALS}.items():
            patch.setenv(name, value)
        with control_process() as call:
            yield call


@pytest.fixture
def steered(engine: Engine, control: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Engine:
    for name in ("prepare", "plan", "finish"):
        monkeypatch.setattr(harness, name, partial(control, f"bellwren.control.{name}:{name}"))
    return engine


def test_what_is_not_in_the_bundle_is_missed(control: Callable[..., Any]) -> None:
    """Or the tests below would tell nothing."""
    with pytest.raises(AssertionError, match="No module named 'numpy' in the bundle"):
        control("bellwren.forecasting.features:any")


@pytest.mark.parametrize("document", KINDS, ids=lambda document: document.__name__)
def test_a_job_of_every_kind_is_steered(steered: Engine, document: Callable[[Engine], Any]) -> None:
    outcome = steered.execute({"spec": _settled(document(steered))}, uuid.uuid4().hex)
    assert outcome.status["status"] == ("FAILED" if document is a_map_that_fails else "SUCCEEDED")


def _parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(2000)), "b": [1.0] * 2000}), file, row_group_size=500)
    return file.getvalue()


@pytest.mark.parametrize(
    ("reader", "name", "data", "algorithm", "params"),
    [
        ("lines", "a.zst", zstandard.compress(b"to be or not\n" * 9000), "wordcount", {}),
        ("csv", "a.csv", b"a,b\n" + b"1,2\n" * 9000, "kmeans", {"k": 2}),
        ("parquet", "a.parquet", _parquet(), "kmeans", {"k": 2}),
    ],
    ids=["zstd", "csv", "parquet"],
)
def test_an_input_of_every_format_is_cut(
    steered: Engine, reader: str, name: str, data: bytes, algorithm: str, params: dict[str, Any]
) -> None:
    folder = f"{uuid.uuid4().hex}/"
    steered.data.put(folder + name, data)
    uri = f"s3://{steered.buckets['data']}/{folder}"
    outcome = steered.run(
        {"bellwren": 1, "algorithm": algorithm, "input": {reader: uri}, "workers": 2, "params": params}
    )
    assert outcome.status["status"] == "SUCCEEDED"
