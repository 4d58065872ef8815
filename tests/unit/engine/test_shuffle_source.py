"""Partitions of a shuffle as a reduce task's supervisor reads them."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import layout
from bellwren.engine import shuffle, sources
from bellwren.engine.sources import ShuffleSource
from bellwren.errors import InputError

JOB = "a-job"


class Bucket:
    """Objects in memory; counts bytes and requests, and how many are under way."""

    def __init__(self, objects: list[bytes]) -> None:
        self.jobs = SimpleNamespace(bucket="jobs")
        self.objects = {
            layout.shuffle_part(JOB, "map", task, len(objects)): data for task, data in enumerate(objects)
        }
        self.requests: Counter[str] = Counter()
        self.reads: list[int] = []

    async def get_range(self, bucket: str, key: str, start: int, end: int) -> bytes:
        self.requests[key] += 1
        self.reads.append(end - start)
        await asyncio.sleep(0)
        return self.objects[key][start:end]


def written(pairs: list[tuple[Any, Any]], partitions: int) -> bytes:
    grouper = shuffle.Grouper(None)
    grouper.add(pairs)
    return grouper.object(partitions)


def source_of(bucket: Any, partitions: int, whole_bytes: int) -> ShuffleSource:
    stage: Any = SimpleNamespace(input={"stage": "map", "tasks": len(bucket.objects)}, tasks=partitions)
    return ShuffleSource(bucket, JOB, stage, whole_bytes)


async def streamed(source: ShuffleSource, task: int, segments: int) -> list[list[shuffle.Entry]]:
    work = await source.load(task)
    assert work.open is not None
    pull = work.open()
    found: list[list[shuffle.Entry]] = [[] for _ in range(segments)]
    waiting = set(range(segments))
    while waiting:  # in turn, as a merge does
        for number in sorted(waiting):
            blocks = await pull(number)
            found[number] += shuffle.decode_segment(blocks)
            if not blocks:
                waiting.discard(number)
    return found


def values_of(entries: list[shuffle.Entry]) -> list[Any]:
    return [value for _, _, values in entries for value in values]


def test_a_partition_larger_than_memory_is_streamed_in_bounded_steps() -> None:
    tasks = [[("hot", f"{task}-{n}" * 40) for n in range(20_000)] for task in range(3)]
    bucket = Bucket([written(pairs, 1) for pairs in tasks])
    found = asyncio.run(streamed(source_of(bucket, 1, 600_000), 0, 3))
    assert [values_of(entries) for entries in found] == [[value for _, value in pairs] for pairs in tasks]
    assert max(bucket.reads[3:]) <= 600_000 // 6


def test_a_small_partition_comes_with_one_read_of_each_object() -> None:
    tasks = [[(f"key {n}", "x" * 100) for n in range(task, 3_000, 3)] for task in range(3)]
    bucket = Bucket([written(pairs, 4) for pairs in tasks])
    source = source_of(bucket, 4, 64 << 20)

    async def all_partitions() -> list[int]:
        works = [await source.load(task) for task in range(4)]
        return [sum(map(len, work.body)) for work in works]

    sizes = asyncio.run(all_partitions())
    assert all(size > 10_000 for size in sizes)
    # One read for the index and one for each partition, but for what came with the index.
    assert all(requests <= 5 for requests in bucket.requests.values())


def test_an_object_that_comes_whole_with_its_index_is_read_once() -> None:
    bucket = Bucket([written([(n, n) for n in range(100)], 5) for _ in range(3)])
    source = source_of(bucket, 5, 64 << 20)

    async def all_partitions() -> list[Any]:
        return [await source.load(task) for task in range(5)]

    works = asyncio.run(all_partitions())
    assert set(bucket.requests.values()) == {1}
    entries = [e for work in works for segment in work.body for e in shuffle.decode_segment(segment)]
    assert Counter(key for _, key, _ in entries) == dict.fromkeys(range(100), 3)


def test_a_damaged_segment_is_an_error_and_no_shorter_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FIRST_READ_BYTES", 64)
    data = written([("k", "v" * 100) for _ in range(5_000)], 1)
    start, end = shuffle.segment_ranges(data, 1)[0]
    (length,) = shuffle._LENGTH.unpack_from(data, start)
    damaged = data[:start] + shuffle._LENGTH.pack(length + end) + data[start + 4 :]
    with pytest.raises(InputError, match="ends within a block"):
        asyncio.run(streamed(source_of(Bucket([damaged]), 1, 1_000), 0, 1))
