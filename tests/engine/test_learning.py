"""k-means and SGD from documents with no code, against plain single-process computations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.harness import Engine, Outcome


def run(engine: Engine, algorithm: str, rows: Any, **params: Any) -> tuple[list[dict[str, Any]], Outcome]:
    key = f"tables/{algorithm}-{len(rows)}.csv"
    names = ",".join(f"c{number}" for number in range(rows.shape[1]))
    text = "\n".join([names, *(",".join(map(repr, row)) for row in rows.tolist())]) + "\n"
    engine.data.put(key, text.encode())
    document = {
        "bellwren": 1,
        "algorithm": algorithm,
        "input": {"csv": f"s3://{engine.buckets['data']}/{key}", "chunk": "16KB"},
        "workers": 2,
        "params": params,
    }
    outcome = engine.run(document)
    return (outcome.result() if outcome.status["status"] == "SUCCEEDED" else []), outcome


def blobs() -> Any:
    random = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    return np.concatenate([centre + random.normal(size=(300, 2)) for centre in centres])


def test_k_means_ends_where_lloyds_rounds_over_all_rows_end(engine: Engine) -> None:
    rows = blobs()
    models, outcome = run(engine, "kmeans", rows, k=4, tolerance=0, iterations=50)
    assert len(models) == outcome.plan["stages"]["supersteps"]["tasks"] >= 2
    assert all(model == models[0] for model in models), "all partitions hold the same model"
    centres = np.array(models[0]["centres"])
    distances = ((rows[:, None] - centres[None]) ** 2).sum(axis=2)
    means = np.array([rows[distances.argmin(axis=1) == number].mean(axis=0) for number in range(4)])
    assert centres == pytest.approx(means, abs=1e-9), "one more round of the plain algorithm moves nothing"
    assert models[0]["inertia"] == pytest.approx(distances.min(axis=1).sum(), rel=1e-9)
    assert models[0]["sizes"] == [300] * 4
    assert outcome.status["ended"] == "halted"


def test_more_clusters_than_distinct_rows_are_as_many_as_there_are_rows(engine: Engine) -> None:
    models, _ = run(engine, "kmeans", np.array([[1.0, 2.0]] * 5 + [[3.0, 4.0]] * 5), k=6)
    assert sorted(models[0]["centres"]) == [[1.0, 2.0], [3.0, 4.0]]


def test_full_batch_descent_takes_the_steps_of_a_single_process(engine: Engine) -> None:
    random = np.random.default_rng(3)
    features = random.normal(size=(2000, 3))
    target = (features @ [1.0, -2.0, 0.5] + 0.3 > 0).astype(float)
    rows = np.hstack([features, target[:, None]])
    models, outcome = run(engine, "sgd", rows, epochs=8, batch=100_000, learning_rate=0.5)
    weights, inputs = np.zeros(4), np.hstack([features, np.ones((2000, 1))])
    for _ in range(8):
        guess = 1 / (1 + np.exp(-(inputs @ weights)))
        weights = weights - 0.5 * inputs.T @ (guess - target) / 2000
    assert [*models[0]["weights"], models[0]["intercept"]] == pytest.approx(weights.tolist(), abs=1e-9)
    losses = [one["aggregates"]["loss"] for one in outcome.record["history"] if "loss" in one["aggregates"]]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 8


def test_mini_batches_find_the_line(engine: Engine) -> None:
    random = np.random.default_rng(4)
    features = random.normal(size=(1500, 2))
    rows = np.hstack([features, (features @ [2.0, -1.0] + 0.5)[:, None]])
    models, _ = run(engine, "sgd", rows, loss="squared", epochs=6, batch=64, learning_rate=0.1)
    assert models[0]["weights"] == pytest.approx([2.0, -1.0], abs=1e-3)
    assert models[0]["intercept"] == pytest.approx(0.5, abs=1e-3)


def test_a_learning_rate_that_diverges_is_named_with_its_step(engine: Engine) -> None:
    rows = np.array([[1e6, 1.0], [-1e6, -3.0]] * 4)
    _, outcome = run(engine, "sgd", rows, loss="squared", learning_rate=1000.0, epochs=500)
    assert outcome.status["error"]["type"] == "TaskError"
    assert "made the weights infinite: learning_rate=1000" in outcome.status["error"]["message"]
