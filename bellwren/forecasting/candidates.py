"""Which (workers, memory) a job may take: a grid within its tasks and the account's quotas."""

from __future__ import annotations

from collections.abc import Sequence

_STEP = 2**0.25
MOST_COUNTS = 40
"""Scale-outs tried at most: each is some 19 % more than the one before, far below any forecast's resolution."""


def worker_counts(tasks: int | None, max_workers: int) -> list[int]:
    """Scale-outs worth trying, rising: every small one, then steps of a quarter of a doubling, and the two ends.

    More workers than tasks would idle, so the number of tasks is the end. Raises ValueError for a quota below 1.
    """
    if max_workers < 1:
        raise ValueError(f"max_workers is {max_workers}; it must be at least 1")
    most = max_workers if tasks is None else max(1, min(max_workers, tasks))
    counts, at = {1, most}, 1.0
    while at < most and len(counts) < MOST_COUNTS:
        at = max(at + 1, at * _STEP)
        counts.add(min(most, round(at)))
    return sorted(counts)


def grid(
    *,
    tasks: int | None,
    max_workers: int,
    memory_sizes_mb: Sequence[int],
    workers: int | None = None,
    memory_mb: int | None = None,
) -> list[tuple[int, int]]:
    """Candidates (workers, memory_mb). A value that the user fixed stands alone.

    Args:
        tasks: Pieces that the input falls into; None: not known.
        max_workers: Quota.
        memory_sizes_mb: Memory sizes that worker functions exist for.
        workers: Fixed by the user, or None.
        memory_mb: Fixed by the user, or None.

    Raises:
        ValueError: if there is no memory size.
    """
    if not memory_sizes_mb:
        raise ValueError("no memory size of worker functions is configured")
    counts = [min(workers, max_workers)] if workers is not None else worker_counts(tasks, max_workers)
    sizes = [memory_mb] if memory_mb is not None else sorted(set(memory_sizes_mb))
    return [(count, size) for count in counts for size in sizes]
