"""Estimate pi by throwing darts, a quarter of a million in each of 16 calls.

$ python -m examples.monte_carlo
4,000,000 darts: pi is about 3.1419
"""

from __future__ import annotations

import random

import bellwren

CALLS = 16
DARTS = 250_000


def hits(seed: int) -> int:
    """How many darts at a square hit the circle in it. The seed is the item, so every run gives the same."""
    dart = random.Random(seed).random
    return sum(dart() ** 2 + dart() ** 2 < 1 for _ in range(DARTS))


def main() -> None:
    cloud = bellwren.connect()
    found = cloud.map(hits, range(CALLS)).result()
    print(f"{CALLS * DARTS:,} darts: pi is about {4 * sum(found) / (CALLS * DARTS):.4f}")


if __name__ == "__main__":
    main()
