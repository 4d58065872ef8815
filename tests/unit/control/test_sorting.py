"""How a sort is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.control.sorting import (
    LARGE_RUN_BYTES,
    MAX_PARTITIONS,
    READ_BYTES,
    SLACK,
    block_bytes,
    block_share,
    partition_count,
    sort_sizes,
)
from bellwren.engine.capacity import runner_memory_bytes

MB = 1_000_000
memories = st.sampled_from([512, 1024, 1769, 3008, 10_240])


@given(st.integers(1, 10**13), st.integers(1, 2_000), memories)
def test_runs_and_partitions_fit_into_memory_and_partitions_share_out_evenly(
    total: int, slots: int, memory_mb: int
) -> None:
    sizes = sort_sizes(total, slots, memory_mb)
    assert sizes.run_bytes <= runner_memory_bytes(memory_mb) / 11
    partitions = partition_count(total, slots, sizes)
    assert partitions <= slots or partitions % slots == 0 or partitions == MAX_PARTITIONS
    assert partitions == MAX_PARTITIONS or total / partitions <= 1.5 * SLACK * sizes.partition_bytes
    assert 16 << 10 <= block_bytes(total, 1 + total // sizes.run_bytes, sizes, slots) <= 256 << 10


@pytest.mark.parametrize(
    ("total", "slots", "runs", "partitions"),
    [
        (1, 2, 1, 1),
        (3 * MB, 2, 3, 4),
        (256 * MB, 2, 16, 16),
        (256 * MB, 100, 45, 44),
        (10_000 * MB, 16, 277, 288),
        (100_000 * MB, 1_000, 874, 873),
    ],
)
def test_small_sorts_have_few_parts_and_large_ones_grow_by_the_square_root(
    total: int, slots: int, runs: int, partitions: int
) -> None:
    sizes = sort_sizes(total, slots, 1769)
    assert -(-total // sizes.run_bytes) == runs
    assert partition_count(total, slots, sizes) == partitions


def test_a_terabyte_takes_millions_of_reads_and_not_billions() -> None:
    """With runs of 16 MiB it would be 3.6 billion."""
    sizes = sort_sizes(10**12, 1_000, 2600, block_share(100))
    runs = -(-(10**12) // sizes.run_bytes)
    assert runs * partition_count(10**12, 1_000, sizes) < 1.2 * 10**12 / READ_BYTES
    assert sizes.run_bytes > 20 * LARGE_RUN_BYTES


@given(st.integers(1, 100_000))
def test_short_blocks_take_more_memory_for_their_bytes_than_long_ones(record_bytes: int) -> None:
    assert block_share(record_bytes) >= block_share(2 * record_bytes) > 2
