"""Find the clusters of 3,000 points by supersteps: the built-in k-means, whose partitions stay in their workers.

$ python -m examples.k_means
around ( 0.0, -5.0): 1000 points
around ( 0.0,  5.0): 1000 points
around ( 5.0,  0.0): 1000 points
"""

from __future__ import annotations

import random

import bellwren

CENTRES = [(5.0, 0.0), (0.0, 5.0), (0.0, -5.0)]


def main() -> None:
    cloud = bellwren.connect()
    chance = random.Random(1)
    points = [
        f"{chance.gauss(x, 0.3):.4f},{chance.gauss(y, 0.3):.4f}\n" for _ in range(1000) for x, y in CENTRES
    ]
    cloud.data_store.put("examples/points.csv", "".join(points).encode())

    job = cloud.submit(
        {
            "bellwren": 1,
            "algorithm": "kmeans",
            "input": {"csv": f"s3://{cloud.deployment.data_bucket}/examples/points.csv", "header": False},
            "params": {"k": len(CENTRES)},
        }
    )
    model = job.result()[0]  # the same in every partition
    for (x, y), size in sorted(zip(model["centres"], model["sizes"], strict=True)):
        print(f"around ({x:4.1f}, {y:4.1f}): {size} points".replace("-0.0", " 0.0"))


if __name__ == "__main__":
    main()
