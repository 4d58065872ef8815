"""How a sort is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.control.sorting import LEAST_RUN_BYTES, READ_BYTES, block_bytes, partition_count, sort_sizes

MB = 1_000_000
memories = st.sampled_from([512, 1024, 1769, 3008, 10_240])


@given(st.integers(1, 10**13), st.integers(1, 2_000), memories)
def test_partitions_are_many_enough_for_the_workers_and_small_enough_for_their_memory(
    total: int, slots: int, memory_mb: int
) -> None:
    sizes = sort_sizes(total, slots, memory_mb)
    assert sizes.partition_bytes <= memory_mb * 1_048_576 / 8
    partitions = partition_count(total, slots, sizes)
    assert partitions <= slots or partitions % slots == 0 or partitions == 20_000
    assert 16 << 10 <= block_bytes(total, 1 + total // sizes.run_bytes, sizes, slots) <= 256 << 10


@pytest.mark.parametrize(
    ("total", "slots", "runs", "partitions"),
    [(1, 2, 1, 1), (3 * MB, 2, 3, 3), (256 * MB, 2, 16, 16), (10_000 * MB, 16, 277, 288)],
)
def test_small_sorts_have_few_parts_and_large_ones_grow_by_the_square_root(
    total: int, slots: int, runs: int, partitions: int
) -> None:
    sizes = sort_sizes(total, slots, 1769)
    assert -(-total // sizes.run_bytes) == runs
    assert partition_count(total, slots, sizes) in (partitions, partitions + 1)


def test_a_terabyte_takes_millions_of_reads_and_not_billions() -> None:
    """With runs of 16 MiB it would be 3.6 billion. Here memory is the limit, so reads are smaller than wanted."""
    sizes = sort_sizes(10**12, 1_000, 1769)
    runs = -(-(10**12) // sizes.run_bytes)
    partitions = partition_count(10**12, 1_000, sizes)
    assert runs * partitions < 4 * 10**12 / READ_BYTES
    assert sizes.run_bytes > 10 * LEAST_RUN_BYTES
