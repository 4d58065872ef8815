"""Shared parameters: no update lost or counted twice, none that is not finite, and staleness within its bound."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bellwren import layout, spec
from bellwren.options import Options
from bellwren.submission import make_document, parameters_payload
from tests.engine.harness import RUNNING, Engine, Outcome
from tests.engine.proxy import Fault


def serve(engine: Engine, train: Any, shards: Any, parameters: Any, **options: Any) -> Outcome:
    """``cloud.parameter_server`` without a cloud."""
    running = {name: options.pop(name) for name in RUNNING if name in options}
    fields: dict[str, Any] = {"parameters_payload": parameters_payload(parameters, engine.store)}
    if "staleness" in options:
        fields["staleness"] = options.pop("staleness")
    cloud: Any = SimpleNamespace(jobs_store=engine.store)
    document = make_document(
        "parameter_server", {"train": train}, shards, Options.of(options), cloud, **fields
    )
    name = f"job-{uuid.uuid4().hex[:12]}"
    return engine.execute({"spec": spec.from_dict(document).to_dict()}, name, **running)


def test_no_push_is_lost_however_many_push_at_once(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(20):
            worker.parameters.push({"n": 1.0})

    outcome = serve(engine, train, [None] * 10, {"n": 0.0}, workers=4)
    assert outcome.result() == {"n": 200.0}
    assert outcome.status["pushes"] == 200


def test_a_shard_that_is_run_again_pushes_nothing_twice(engine: Engine, tmp_path: Path) -> None:
    mark = str(tmp_path / "died")

    def train(worker: Any) -> None:
        for step in range(10):
            worker.parameters.push({"n": 1.0})
            if worker.index == 1 and step == 6 and not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(1)

    assert serve(engine, train, [None] * 3, {"n": 0.0}, workers=2).result() == {"n": 30.0}


def test_a_worker_killed_in_the_middle_of_a_push_changes_nothing(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(10):
            worker.parameters.push({"n": 1.0})

    with engine.proxy.disturbed_by(Fault("late-kill", path="parameters/log/", method="PUT", skip=7)):
        outcome = serve(engine, train, [None] * 4, {"n": 0.0}, workers=2)
    assert outcome.result() == {"n": 40.0}
    assert outcome.lost == 1


def test_two_workers_on_the_same_shard_count_once(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(10):
            worker.parameters.push({"n": 1.0})

    outcome = serve(
        engine, train, [None] * 2, {"n": 0.0}, workers=2, launch=lambda workers: [*workers, *workers]
    )
    assert outcome.result() == {"n": 20.0}


def test_a_pull_sees_what_was_pushed_before_and_arrays_keep_their_shape(engine: Engine) -> None:
    def train(worker: Any) -> None:
        before = worker.parameters.pull()
        worker.parameters.push({"w": np.ones((2, 3)), "b": 2})
        after = worker.parameters.pull()
        assert after["w"].shape == (2, 3)
        assert (after["w"] - before["w"] == 1).all()
        after["w"][:] = 99
        assert worker.parameters.pull()["w"].max() < 99

    found = serve(engine, train, [None], {"w": np.zeros((2, 3)), "b": 1}).result()
    assert found["b"] == 3.0
    assert found["w"].tolist() == [[1.0] * 3] * 2


def test_more_pushes_than_a_snapshot_holds_add_up(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for step in range(75):
            worker.parameters.push({"n": 1.0}, loss=1.0 / (step + 1))

    outcome = serve(engine, train, [None] * 2, {"n": 0.0}, workers=2)
    assert outcome.result() == {"n": 150.0}
    losses = outcome.record["losses"]
    assert [place for place, _, _ in losses] == list(range(150))
    assert {shard for _, shard, _ in losses} == {0, 1}


def test_an_update_that_is_not_finite_is_refused_and_names_shard_and_step(engine: Engine) -> None:
    def train(worker: Any) -> None:
        worker.parameters.push({"w": 1.0})
        worker.parameters.push({"w": float("nan")})

    outcome = serve(engine, train, [None], {"w": 1.0}, retries=0)
    assert outcome.status["error"]["type"] == "TaskError"
    assert "shard 0, step 1, pushes an update of 'w' that is not finite" in outcome.status["error"]["message"]
    kept = [entry.key for entry in engine.store.list(layout.work(outcome.job_id)) if "/log/" in entry.key]
    assert len(kept) == 1, "what came before is kept"


def test_stale_gradients_diverge_without_a_bound_and_not_within_one(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(15):
            while True:
                w = worker.parameters.pull()["w"]
                if worker.parameters.push({"w": -0.015 * 2 * 50 * w}, loss=w * w):
                    break

    outcome = serve(engine, train, [None] * 4, {"w": 1.0}, workers=4, staleness=0)
    assert abs(outcome.result()["w"]) < 1e-15, "each push halves the distance and changes its sign"
    assert outcome.status["pushes"] == 60


def test_a_name_or_a_shape_that_is_not_there_is_refused(engine: Engine) -> None:
    outcome = serve(engine, lambda worker: worker.parameters.push({"v": 1.0}), [None], {"w": 1.0})
    assert "there is no parameter 'v'; there are w" in outcome.status["error"]["message"]
    outcome = serve(engine, lambda worker: worker.parameters.push({"w": [1.0, 2.0]}), [None], {"w": 1.0})
    assert "'w' has the shape (), its update (2,)" in outcome.status["error"]["message"]


def test_sgd_runs_as_hogwild_from_a_document(engine: Engine) -> None:
    random = np.random.default_rng(4)
    features = random.normal(size=(600, 2))
    rows = np.hstack([features, (features @ [2.0, -1.0] + 0.5)[:, None]])
    lines = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    engine.data.put("tables/hogwild.csv", f"a,b,y\n{lines}\n".encode())
    document = {
        "bellwren": 1,
        "algorithm": "sgd",
        "kind": "parameter_server",
        "input": {"csv": f"s3://{engine.buckets['data']}/tables/hogwild.csv", "chunk": "16KB"},
        "workers": 2,
        "params": {"loss": "squared", "epochs": 4, "batch": 32},
    }
    assert engine.run(document).result()["weights"] == pytest.approx([2.0, -1.0, 0.5], abs=1e-2)
