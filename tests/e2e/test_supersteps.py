"""Supersteps on a real deployment with IAM enforced."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from tests.e2e import jobs

CODE = """
def step(worker):
    if worker.superstep == 0:
        worker.state = worker.state or 0
    worker.state += sum(worker.messages)
    for to in range(worker.partitions):
        worker.send(to, 1)
    worker.aggregate("sum", worker.state)
"""


@pytest.fixture(scope="module")
def cloud(deployment: Any) -> Iterator[Cloud]:
    environment = pytest.MonkeyPatch()
    for name, value in deployment.cloud.environment().items():
        environment.setenv(name, value)
    yield bellwren.connect()
    environment.undo()


def test_partitions_meet_in_storage_superstep_by_superstep(cloud: Cloud) -> None:
    def step(worker: Any) -> None:
        worker.state += sum(worker.messages)
        for to in range(worker.partitions):
            worker.send(to, 1)
        worker.aggregate("sum", worker.state)

    job = cloud.bsp(step, [0, 10, 20], 6, workers=3, progress=False)
    assert job.result(timeout=90) == [15, 25, 35]
    status = job.status()
    assert (status["ended"], status["supersteps"], status["aggregates"]) == ("max_supersteps", 6, {"sum": 75})
    assert len(job.record["history"]) == 6


def test_e03_supersteps_leave_no_trace_in_the_history_however_many(deployment: Any, cloud: Cloud) -> None:
    def step(worker: Any) -> None:
        worker.state += 1

    few, many = (cloud.bsp(step, [0, 0], count, workers=2, progress=False) for count in (2, 40))
    assert many.result(timeout=90) == [40, 40]
    assert few.result(timeout=90) == [2, 2]
    assert jobs.events(deployment, many.id) == jobs.events(deployment, few.id) < 50


def test_a_loop_of_relaunched_rounds_comes_to_its_end(cloud: Cloud) -> None:
    def step(worker: Any) -> None:
        worker.state += 1

    assert cloud.bsp(step, [0, 0, 0], 3, resident=False, progress=False).result(timeout=90) == [3, 3, 3]


def test_a_document_with_a_zip_runs_supersteps(deployment: Any, cloud: Cloud) -> None:
    document = {
        "bellwren": 1,
        "kind": "bsp",
        "code": jobs.upload_code(cloud, steps=CODE),
        "step": "steps:step",
        "partitions": 2,
        "max_supersteps": 3,
        "workers": 2,
    }
    execution = jobs.start(deployment, {"spec": document}, f"zip-{uuid.uuid4().hex[:8]}")
    job = cloud.job(execution.rpartition(":")[2])
    assert jobs.ended(cloud, job.id)["status"] == "SUCCEEDED"
    assert jobs.lines_of(job) == [4, 4]


def test_a_document_with_no_code_ranks_a_real_graph(deployment: Any, cloud: Cloud, shared_data: Path) -> None:
    key = f"graph-{uuid.uuid4().hex[:8]}/wiki-vote.txt"
    cloud.data_store.put(key, (shared_data / "graph" / "wiki-vote.txt").read_bytes())
    document = {
        "bellwren": 1,
        "algorithm": "pagerank",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{key}"},
        "workers": 2,
    }
    key = f"specs/{uuid.uuid4().hex}.json"
    jobs.drop(deployment, key, json.dumps(document).encode())
    job = cloud.job(jobs.became(cloud, key))
    ranks = {node: rank for part in job.result(timeout=90) for node, rank in part.items()}
    expected = json.loads((shared_data / "answers.json").read_text())["graph/wiki-vote.txt"]["pagerank_top5"]
    assert sum(ranks.values()) == pytest.approx(1, abs=1e-9)
    assert [ranks[str(node)] for node, _ in expected] == pytest.approx(
        [rank for _, rank in expected], abs=1e-6
    )


def test_no_push_to_shared_parameters_is_lost(cloud: Cloud) -> None:
    def train(worker: Any) -> None:
        for _ in range(5):
            worker.parameters.push({"n": 1.0}, loss=0.5)

    job = cloud.parameter_server(train, 3, {"n": 0.0}, workers=2, progress=False)
    assert job.result(timeout=90) == {"n": 15.0}
    assert (job.status()["pushes"], len(job.record["losses"])) == (15, 15)
