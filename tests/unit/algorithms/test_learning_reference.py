"""k-means and SGD over partitions against one process that holds all rows, with the same seeds: equal to 1e-12."""

from __future__ import annotations

import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bellwren.algorithms import kmeans, sgd
from tests.engine.iterative import reference

TOLERANCE = 1e-12


def shares(rows: Any, partitions: int) -> list[Any]:
    """The rows of each partition; one of them has none where there are several."""
    cuts = np.linspace(0, len(rows), partitions).astype(int) if partitions > 1 else [len(rows)]
    return [list(map(list, part)) for part in np.split(rows, cuts)[:partitions]]


def drawn(*of: int) -> float:
    """The random number from 0 to 1 that these numbers name."""
    return random.Random(":".join(map(str, of))).random()


def one_process_k_means(rows: Any, parts: list[Any], k: int, seed: int, rounds: int) -> Any:
    """k-means++ and Lloyd's rounds over all rows; ``parts`` only names the random numbers."""
    edges = np.cumsum([0, *map(len, parts)])
    nearest = np.ones(len(rows))
    centres: list[Any] = []
    while len(centres) < k:
        proposals, weights = [], []
        for number, (start, stop) in enumerate(pairwise(edges)):
            if nearest[start:stop].sum() > 0:
                mark = drawn(seed, len(centres), number) * nearest[start:stop].sum()
                proposals.append(rows[start + np.argmax(nearest[start:stop].cumsum() > mark)])
                weights.append(nearest[start:stop].sum())
        mark = drawn(seed, len(centres)) * sum(weights)
        centres.append(proposals[int(np.argmax(np.cumsum(weights) > mark))])
        nearest = ((rows[:, None] - np.array(centres)[None]) ** 2).sum(axis=2).min(axis=1)
    found = np.array(centres)
    for _ in range(rounds):
        owner = ((rows[:, None] - found[None]) ** 2).sum(axis=2).argmin(axis=1)
        found = np.array(
            [rows[owner == one].mean(axis=0) if (owner == one).any() else found[one] for one in range(k)]
        )
    return found


@pytest.mark.parametrize("partitions", [1, 3, 5])
@pytest.mark.parametrize("seed", [0, 7])
def test_k_means_takes_the_steps_of_one_process(partitions: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(200, 3))
    parts = shares(rows, partitions)
    program = kmeans.functions(k=6, iterations=4, tolerance=0.0, seed=seed)
    states, _ = reference(program.step, [[*part] for part in parts], 100)
    expected = one_process_k_means(rows, parts, 6, seed, rounds=4)
    for state in states:
        assert program.present(state)["centres"] == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mini_batches_take_the_steps_of_one_process(partitions: int, loss: str) -> None:
    dice = np.random.default_rng(2)
    features = dice.normal(size=(90, 2))
    target = features @ [1.0, -1.0] + dice.normal(size=90)
    rows = np.hstack([features, (target > 0 if loss == "logistic" else target)[:, None]])
    parts = [np.array(part).reshape(-1, 3) for part in shares(rows, partitions)]
    program = sgd.functions(loss=loss, learning_rate=0.1, epochs=3, batch=30, seed=5)
    states, _ = reference(program.step, [list(map(list, part)) for part in parts], 100)

    share = -(-30 // partitions)
    steps = max(-(-len(part) // share) for part in parts)
    weights = np.zeros(3)
    for epoch in range(3):
        orders = [np.random.default_rng([5, epoch, one]).permutation(len(p)) for one, p in enumerate(parts)]
        for step in range(steps):
            chosen = [
                part[order[step * share : (step + 1) * share]]
                for part, order in zip(parts, orders, strict=True)
            ]
            batch = np.vstack(chosen)
            inputs = np.hstack([batch[:, :-1], np.ones((len(batch), 1))])
            guess = inputs @ weights
            guess = 1 / (1 + np.exp(-guess)) if loss == "logistic" else guess
            weights = weights - 0.1 * inputs.T @ (guess - batch[:, -1]) / len(batch)
    for state in states:
        model = program.present(state)
        assert [*model["weights"], model["intercept"]] == pytest.approx(weights, abs=TOLERANCE)


def test_shards_of_different_columns_are_told_so() -> None:
    parameters = SimpleNamespace(pull=lambda: {"weights": np.zeros(3)})
    program = sgd.functions("squared", 0.1, epochs=1, batch=4, seed=0)
    assert program.train is not None
    with pytest.raises(ValueError, match="every row must have 3 columns; here are rows of 2"):
        program.train(SimpleNamespace(shard=[[1.0, 2.0]], index=1, parameters=parameters))
