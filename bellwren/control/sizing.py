"""How finely a stage is cut, and how many workers it gets where no forecast says so. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bellwren.framing import Index
from bellwren.inputs.cutting import SMALLEST_SHARE_BYTES

TASKS_PER_WORKER = 16
"""Items: enough that a worker with costly ones sheds most of them, few enough that claims cost little."""
MAX_TASKS = 20_000
PARTITION_BYTES = 64 << 20
DEFAULT_MEMORY_MB = 1769
DEFAULT_MAX_WORKERS = 16
_DEFAULT_WORKER_BYTES = 32 << 20
_DEFAULT_WORKER_ITEMS = 25


def item_tasks(index: Index, workers: int) -> list[list[int]]:
    """Cut items into tasks: ``[first item, count, start byte, end byte, frames to skip]`` each.

    Counts differ by at most one, since nothing is known of what an item costs.
    """
    tasks = min(index.count, workers * TASKS_PER_WORKER, MAX_TASKS)
    edges = [task * index.count // tasks for task in range(tasks + 1)] if tasks else []
    return [[a, b - a, *index.span(a, b)] for a, b in pairwise(edges)]


def most_tasks(profile: Mapping[str, Any]) -> int:
    """Pieces that a measured input falls into at most: more workers than that would find nothing to do.

    Items are not divided, nor are objects that have to be read from their start; of anything else a piece is at least
    `SMALLEST_SHARE_BYTES`. The same for a job before it runs and for its record, because it is part of its context.
    """
    if profile.get("items") is not None:
        return max(1, int(profile["items"]))
    if not profile.get("divisible", True):
        return max(1, int(profile["objects"]))
    return max(1, int(profile["bytes"]) // SMALLEST_SHARE_BYTES)


def partition_count(workers: int, input_bytes: int) -> int:
    """Partitions of a shuffle: one for each worker, more where the data is large, so that each stays small."""
    return max(workers, min(4 * workers, -(-input_bytes // PARTITION_BYTES)))


def default_choice(*, items: int | None, input_bytes: int, memory_sizes_mb: Sequence[int]) -> tuple[int, int]:
    """Workers and memory in MB where there is no forecast: the stated default.

    One worker for each 32 MiB of input or 25 items, up to 16; one full vCPU of memory each.
    """
    by_bytes = -(-input_bytes // _DEFAULT_WORKER_BYTES)
    by_items = -(-(items or 0) // _DEFAULT_WORKER_ITEMS)
    workers = max(1, min(DEFAULT_MAX_WORKERS, max(by_bytes, by_items)))
    return workers, nearest_memory(DEFAULT_MEMORY_MB, memory_sizes_mb)


def nearest_memory(wanted_mb: int, sizes_mb: Sequence[int]) -> int:
    """The smallest deployed worker size that has at least the memory wanted, else the largest there is."""
    return min((size for size in sizes_mb if size >= wanted_mb), default=max(sizes_mb))
