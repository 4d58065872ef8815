"""Which bytes of the runs a partition takes, and that nobody needs all indexes at once to find out."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import layout
from bellwren.control.merging import lay_out
from bellwren.engine.operations import Task
from bellwren.engine.sorting import keyed, operations, partition, plain
from bellwren.engine.sorting.blocks import BlockForm
from bellwren.engine.sorting.partition import MOST_ENTRIES, Piece, run_cuts, step_of, thinned
from bellwren.engine.sorting.source import PieceSource, RunSource
from tests.unit.engine.sorting.jobs import opened, plain_run, thin_limits

JOB = "a-job"
FORM = BlockForm(10, 4)
records = st.lists(st.binary(min_size=10, max_size=10), max_size=40)


@pytest.mark.parametrize(
    ("entries", "runs", "step"), [(0, 1, 1), (10_000, 50, 1), (9_000, 2_763, 50), (MOST_ENTRIES + 1, 1, 2)]
)
def test_few_enough_entries_are_looked_at_however_many_there_are(entries: int, runs: int, step: int) -> None:
    assert step_of(entries, runs) == step
    assert entries / step * runs <= MOST_ENTRIES


@given(records, st.integers(1, 7))
def test_a_thinned_index_tells_of_the_same_bytes_and_records(task: list[bytes], step: int) -> None:
    (index,), _ = opened([plain_run(FORM, b"".join(task), 20)])
    coarse = thinned(index, step)
    assert (sum(coarse.sizes), sum(coarse.counts)) == (sum(index.sizes), sum(index.counts))
    assert len(coarse) == len(coarse.ranks) == len(coarse.keys) - 1 == -(-len(index) // step)
    assert set(coarse.keys) <= set(index.keys)


@given(st.lists(records, min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 4))
def test_the_pieces_of_all_partitions_are_the_runs_and_meet_within_one_block(
    tasks: list[list[bytes]], count: int, step: int
) -> None:
    indexes, _ = opened([plain_run(FORM, b"".join(task), 20) for task in tasks])
    limits = thin_limits(indexes, count, step)
    cuts = [run_cuts(index, run, limits) for run, index in enumerate(indexes)]
    for run, index in enumerate(indexes):
        found = [one for n in range(count) for one in partition.pieces(cuts, n) if one.run == run]
        ends = {0, *index.offsets()}
        assert {one.start for one in found} | {one.end for one in found} <= ends
        at = 0
        for one in found:
            assert one.start == at or (one.begins_within and one.start < at)
            at = one.end
        assert at == sum(index.sizes)


class Bucket:
    """Objects in memory; counts requests."""

    def __init__(self, runs: list[bytes]) -> None:
        self.jobs = SimpleNamespace(bucket="jobs")
        self.objects = {
            layout.shuffle_part(JOB, "sort", task, len(runs)): data for task, data in enumerate(runs)
        }
        self.requests: Counter[str] = Counter()

    def get_range(self, key: str, start: int, end: int) -> bytes:
        self.requests[key] += 1
        return self.objects[key][start:end]

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = data


class Pool(Bucket):
    """The same for a supervisor."""

    async def get_range(self, bucket: str, key: str, start: int, end: int) -> bytes:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().get_range(key, start, end)

    async def jobs_json(self, key: str) -> Any:
        return json.loads(self.objects[key])


async def merged(source: PieceSource, task: int) -> list[bytes]:
    """What a runner makes of a merge task."""
    work = await source.load(task)
    assert work.ask is not None
    wanted = [Piece(*one) for one in work.head["pieces"]]
    data = await work.ask({"ranges": [(one.run, one.start, one.end) for one in wanted]})
    low, high = (one and (bytes.fromhex(one[0]), one[1]) for one in work.head["limits"])
    return plain.merged(FORM, (low, high), zip(wanted, map(memoryview, data), strict=True))


class Line:
    """A runner's channel to the supervisor of a merge task, and what it has sent."""

    def __init__(self, source: RunSource) -> None:
        self.source = source
        self.asked: list[int] = []
        self.sent: list[bytes] = []

    def ask(self, wanted: dict[str, Any]) -> list[memoryview]:
        async def answer() -> list[bytes]:
            work = await self.source.load(0)
            assert work.ask is not None
            return await work.ask(wanted)

        self.asked.append(len(wanted.get("indexes", ())))
        return list(map(memoryview, asyncio.run(answer())))

    def at(self, position: int) -> None:
        pass

    def results(self, encoded: bytes, count: int) -> None:
        self.sent.append(encoded)

    def done(self) -> None:
        pass


@pytest.mark.parametrize("most_entries", [MOST_ENTRIES, 300])
def test_keys_of_any_type_are_merged_by_a_runner_that_holds_few_entries(
    monkeypatch: pytest.MonkeyPatch, most_entries: int
) -> None:
    """A runner reads the indexes a few at a time, and once or twice in its life, not for each of its tasks."""
    monkeypatch.setattr(partition, "MOST_ENTRIES", most_entries)
    seen: list[int] = []
    found = partition.boundaries

    def counted(coarse: Any, partitions: int) -> Any:
        seen.append(sum(map(len, coarse)))
        return found(coarse, partitions)

    monkeypatch.setattr(partition, "boundaries", counted)
    count, runs = 5, 40
    values = [[(n * 7919 + task * 31) % 1_000 or None for n in range(2_000)] for task in range(runs)]
    objects = []
    for task in values:
        sorter = keyed.Sorter()
        for value in task:
            sorter.add(value, f"{value}\n".encode())
        objects.append(b"".join(sorter.run(100, {})))
    pool: Any = Pool(objects)
    stage: Any = SimpleNamespace(input={"stage": "sort", "tasks": runs}, tasks=count, sort={"plain": False})
    line: Any = Line(RunSource(pool, JOB, stage))
    for number in range(count):
        head = {"task": number, "start": 0, "skip": {}}
        operations.run_merge(Task(JOB + str(most_entries), stage, head, memoryview(b""), None), None, line)  # type: ignore[arg-type]
    expected = sorted(
        (value for task in values for value in task), key=lambda value: (value is None, value or 0)
    )
    assert b"".join(line.sent).decode().split() == list(map(str, expected))
    looks = 1 if most_entries == MOST_ENTRIES else 2
    assert (sum(line.asked), max(line.asked)) == (looks * runs, 16)
    assert seen[0] <= most_entries + 3 * runs


@pytest.mark.parametrize("most_entries", [MOST_ENTRIES, 300])
def test_partitions_laid_out_once_and_joined_are_the_sorted_whole(
    monkeypatch: pytest.MonkeyPatch, most_entries: int
) -> None:
    monkeypatch.setattr(partition, "MOST_ENTRIES", most_entries)
    count, runs = 6, 5
    tasks = [[os.urandom(2) + b"%08d" % at for at in range(20_000)] for _ in range(runs)]
    bucket: Any = Bucket([plain_run(FORM, b"".join(task), 200) for task in tasks])
    lay_out(JOB, runs, count, bucket)
    looks = max(bucket.requests.values())
    assert looks == (1 if most_entries == MOST_ENTRIES else 2)

    pool: Any = Pool([])
    pool.objects = bucket.objects
    stage: Any = SimpleNamespace(input={"stage": "sort", "tasks": runs}, tasks=count)
    source = PieceSource(pool, JOB, stage)

    async def all_partitions() -> list[list[bytes]]:
        return [await merged(source, task) for task in range(count)]

    found = asyncio.run(all_partitions())
    everything = [record for task in tasks for record in task]
    assert [record for part in found for record in part] == sorted(everything, key=lambda record: record[:4])
    sizes = list(map(len, found))
    assert max(sizes) <= 2 * min(sizes)
    assert max(pool.requests.values()) <= count
