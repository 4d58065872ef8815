"""Train a linear model from two shards at once, all adding to the same weights without a lock (Hogwild).

$ python -m examples.hogwild
weights  3.00 -2.00  0.50, as the data was made: 3.0 -2.0 0.5
pushes: 60, none lost
"""

from __future__ import annotations

import random
from typing import Any

import bellwren

TRUTH = (3.0, -2.0, 0.5)
SHARDS = 2
STEPS = 30
RATE = 0.4


def rows(seed: int) -> list[tuple[list[float], float]]:
    """Points of a shard, each with its value."""
    chance = random.Random(seed)
    points = [[chance.uniform(-1, 1) for _ in TRUTH] for _ in range(200)]
    return [(x, sum(w * v for w, v in zip(TRUTH, x, strict=True))) for x in points]


def train(worker: Any) -> None:
    """Runs once for each shard, to its end. A push adds to the weights, whatever the other shards have pushed."""
    data = rows(worker.shard)
    for _ in range(STEPS):
        weights = worker.parameters.pull()
        gradient = dict.fromkeys(weights, 0.0)
        loss = 0.0
        for x, y in data:
            error = sum(weights[f"w{i}"] * v for i, v in enumerate(x)) - y
            loss += error**2 / len(data)
            for i, v in enumerate(x):
                gradient[f"w{i}"] += 2 * error * v / len(data)
        worker.parameters.push({name: -RATE * slope for name, slope in gradient.items()}, loss=loss)


def main() -> None:
    cloud = bellwren.connect()
    start = {f"w{i}": 0.0 for i in range(len(TRUTH))}
    job = cloud.parameter_server(train, range(SHARDS), start)
    weights = job.result()
    found = " ".join(f"{weights[name]:5.2f}" for name in start)
    print(f"weights {found}, as the data was made: {' '.join(map(str, TRUTH))}")
    print(f"pushes: {job.status()['pushes']}, none lost")


if __name__ == "__main__":
    main()
