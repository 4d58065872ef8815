"""Shared parameters: no update lost or counted twice, none that is not finite, and staleness within its bound.

Reported faults: H05 by name; H06 by the first test (lost updates) and the three that follow (pushes counted twice).
"""

from __future__ import annotations

import os
import re
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bellwren import layout, spec
from bellwren.engine.training.values import Slice
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

    with engine.proxy.disturbed_by(Fault("late-kill", path="parameters/slices/", method="PUT", skip=7)):
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


def test_the_course_of_the_loss_is_told_push_by_push(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for step in range(75):
            worker.parameters.push({"n": 1.0}, loss=1.0 / (step + 1))

    outcome = serve(engine, train, [None] * 2, {"n": 0.0}, workers=2)
    assert outcome.result() == {"n": 150.0}
    losses = outcome.record["losses"]
    for shard in (0, 1):
        assert [(step, loss) for step, of, loss in losses if of == shard] == [
            (step, 1.0 / (step + 1)) for step in range(75)
        ]


def test_large_parameters_lie_in_slices_and_storage_does_not_grow_with_pushes(engine: Engine) -> None:
    rows = 30_000  # of 24 bytes: three slices

    def train(worker: Any) -> None:
        for step in range(12):
            update = np.zeros((rows, 3))
            # Rows of one slice each, and in each third push all of them.
            update[worker.index :: rows // 7 if step % 3 else 1] = 1.0
            worker.parameters.push({"w": update, "b": [1.0, 0.0]})

    with engine.proxy.disturbed_by(Fault("lose", path="parameters/slices/", method="PUT", times=4, skip=3)):
        outcome = serve(engine, train, [None] * 3, {"w": np.zeros((rows, 3)), "b": [0.0, 0.0]}, workers=3)
    found = outcome.result()
    expected = np.zeros((rows, 3))
    for index in range(3):
        for step in range(12):
            expected[index :: rows // 7 if step % 3 else 1] += 1.0
    assert (found["w"] == expected).all()
    assert found["b"].tolist() == [36.0, 0.0]
    assert outcome.status["pushes"] == 36


def test_a_push_that_a_lost_worker_brought_to_some_slices_comes_to_the_others(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(4):
            worker.parameters.push({"w": np.ones(100_000)})

    with engine.proxy.disturbed_by(
        Fault("late-kill", path="parameters/slices/001", method="PUT", skip=3),
        Fault("kill", path="parameters/slices/002", method="PUT", skip=5),
    ):
        outcome = serve(engine, train, [None] * 2, {"w": np.zeros(100_000)}, workers=2)
    assert (outcome.result()["w"] == 8.0).all()
    assert outcome.lost == 2


def test_a_function_that_asks_where_it_was_goes_on_there(engine: Engine, tmp_path: Path) -> None:
    ran = str(tmp_path / "ran")

    def train(worker: Any) -> None:
        for step in range(worker.parameters.resume(), 10):
            with open(ran, "a") as file:
                file.write(f"{step} ")
            worker.parameters.push({"n": 1.0})
            if step == 6 and len(Path(ran).read_text().split()) == 7:
                os._exit(1)

    assert serve(engine, train, [None], {"n": 0.0}, workers=1).result() == {"n": 10.0}
    assert Path(ran).read_text().split() == [str(step) for step in range(10)]


def test_parameters_keep_their_precision(engine: Engine) -> None:
    def train(worker: Any) -> None:
        worker.parameters.push({"w": np.ones(3)})

    assert serve(engine, train, [None], {"w": np.zeros(3, np.float32)}).result()["w"].dtype == np.float32


def test_an_update_that_is_not_finite_is_refused_and_names_shard_and_step(engine: Engine) -> None:
    def train(worker: Any) -> None:
        worker.parameters.push({"w": 1.0})
        worker.parameters.push({"w": float("nan")})

    outcome = serve(engine, train, [None], {"w": 1.0}, retries=0)
    assert outcome.status["error"]["type"] == "TaskError"
    assert "shard 0, step 1, pushes an update of 'w' that is not finite" in outcome.status["error"]["message"]
    kept = Slice.decode(engine.store.get(layout.parameter_slice(outcome.job_id, 0)))
    assert kept.arrays == {"w": 2.0}, "what came before is kept"


def test_an_update_that_would_make_a_parameter_infinite_is_refused(engine: Engine) -> None:
    def train(worker: Any) -> None:
        for _ in range(3):
            worker.parameters.push({"w": 1e308})

    outcome = serve(engine, train, [None], {"w": 0.0}, retries=0)
    assert "shard 0, step 1, would make parameter 'w' infinite" in outcome.status["error"]["message"]
    kept = Slice.decode(engine.store.get(layout.parameter_slice(outcome.job_id, 0)))
    assert kept.arrays == {"w": 1e308}, "what is in storage is finite at any time"


def test_a_stale_push_changes_nothing_and_says_so(engine: Engine, tmp_path: Path) -> None:
    started, other = str(tmp_path / "started"), str(tmp_path / "other")

    def wait_for(path: str) -> None:
        while not os.path.exists(path):
            time.sleep(0.01)

    def train(worker: Any) -> None:
        if worker.index == 1:
            wait_for(started)
            for _ in range(2):
                worker.parameters.push({"w": 1.0})
            open(other, "w").close()
            return
        worker.parameters.push({"w": 10.0})
        open(started, "w").close()
        wait_for(other)
        if worker.parameters.push({"w": 100.0}):
            raise RuntimeError("two of another's came in since the start")
        worker.parameters.pull()
        if not worker.parameters.push({"w": 1000.0}):
            raise RuntimeError("nothing has come in since the pull")

    assert serve(engine, train, [0, 1], {"w": 0.0}, workers=2, staleness=1).result() == {"w": 1012.0}


def descend_together(folder: Path) -> Any:
    """Gradient steps of f(w) = 50 w² at a rate that alone halves the distance and changes its sign. All four shards
    have pulled before the first of them pushes: without a bound on staleness each round multiplies w by -5."""
    place, shards = str(folder), 4

    def wait_for_all(mark: str, index: int) -> None:
        open(f"{place}/{mark}-{index}", "w").close()
        while not all(os.path.exists(f"{place}/{mark}-{one}") for one in range(shards)):
            if os.path.exists(f"{place}/ended"):
                return
            time.sleep(0.001)

    def train(worker: Any) -> None:
        for number in range(20):
            w = worker.parameters.pull()["w"]
            wait_for_all(f"pulled-{number}", worker.index)
            try:
                while not worker.parameters.push({"w": -0.015 * (2 * 50 * w)}):
                    w = worker.parameters.pull()["w"]
            except FloatingPointError:
                open(f"{place}/ended", "w").close()
                raise
            wait_for_all(f"pushed-{number}", worker.index)

    return train


def test_h05_stale_gradients_that_diverge_end_the_job_by_name_and_leave_finite_parameters(
    engine: Engine, tmp_path: Path
) -> None:
    outcome = serve(engine, descend_together(tmp_path), [None] * 4, {"w": 1e300}, workers=4, retries=0)
    assert outcome.status["status"] == "FAILED"
    message = outcome.status["error"]["message"]
    assert re.search(r"shard \d, step 9, pushes an update of 'w' that is not finite", message), message
    kept = Slice.decode(engine.store.get(layout.parameter_slice(outcome.job_id, 0)))
    assert kept.arrays == {"w": pytest.approx(-(1e300 * 5.0**9))}, "nine rounds, and the last is kept"


def test_h05_the_same_gradients_converge_with_a_bound_on_staleness(engine: Engine, tmp_path: Path) -> None:
    train = descend_together(tmp_path)
    outcome = serve(engine, train, [None] * 4, {"w": 1.0}, workers=4, staleness=0)
    assert outcome.result()["w"] == pytest.approx(0.5**80), "each of the pushes halves the distance"
    assert outcome.status["pushes"] == 80


def test_a_name_or_a_shape_that_is_not_there_is_refused(engine: Engine) -> None:
    outcome = serve(engine, lambda worker: worker.parameters.push({"v": 1.0}), [None], {"w": 1.0})
    assert "there is no parameter 'v'; there are w" in outcome.status["error"]["message"]
    outcome = serve(engine, lambda worker: worker.parameters.push({"w": [1.0, 2.0]}), [None], {"w": 1.0})
    assert "'w' has the shape (), its update (2,)" in outcome.status["error"]["message"]


def test_an_update_of_what_is_no_number_is_named(engine: Engine) -> None:
    outcome = serve(engine, lambda worker: worker.parameters.push({"w": "high"}), [None], {"w": 1.0})
    assert (
        "the update of 'w' must be a number or an array of them; found 'high'"
        in (outcome.status["error"]["message"])
    )


def test_no_shards_leave_the_parameters_as_they_were(engine: Engine) -> None:
    outcome = serve(engine, lambda worker: None, [], {"w": [1.0, 2.0]})
    assert outcome.result()["w"].tolist() == [1.0, 2.0]
    assert outcome.status["pushes"] == 0


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
