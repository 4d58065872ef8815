from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.forecasting.candidates import MOST_COUNTS, grid, worker_counts


@given(st.none() | st.integers(0, 10**6), st.integers(1, 10**5))
def test_scale_outs_stay_within_tasks_and_quota_and_hold_both_ends(tasks: int | None, quota: int) -> None:
    counts = worker_counts(tasks, quota)
    most = quota if tasks is None else max(1, min(quota, tasks))
    assert counts == sorted(set(counts))
    assert counts[0] == 1
    assert counts[-1] == most
    assert len(counts) <= MOST_COUNTS + 2


def test_small_scale_outs_are_all_tried() -> None:
    assert worker_counts(100, 1000)[:6] == [1, 2, 3, 4, 5, 6]


def test_what_the_user_fixed_stands_alone_but_not_above_the_quota() -> None:
    assert grid(tasks=50, max_workers=10, memory_sizes_mb=[1024, 512], workers=64) == [(10, 512), (10, 1024)]
    assert grid(tasks=2, max_workers=10, memory_sizes_mb=[512], memory_mb=2048) == [(1, 2048), (2, 2048)]


def test_a_quota_of_nothing_and_no_memory_size_are_refused() -> None:
    with pytest.raises(ValueError, match="max_workers"):
        worker_counts(1, 0)
    with pytest.raises(ValueError, match="memory size"):
        grid(tasks=1, max_workers=1, memory_sizes_mb=[])
