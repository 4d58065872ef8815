"""What all contenders of a map do to an item. It imports nothing, so that it runs in any of their environments."""

from __future__ import annotations


def same(x: int) -> int:
    """Nothing: what is left is what a call costs."""
    return x


def primes(x: int) -> int:
    """How many primes there are below a number, by trial: some tens of milliseconds of pure Python."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, 8_000 + x))


FUNCTIONS = {"same": same, "primes": primes}
