"""The barrier on a storage in memory: what it asks of storage, whoever comes when, and that it keeps little."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import layout
from bellwren.engine.supersteps import board as barrier
from bellwren.engine.supersteps.board import Board
from bellwren.engine.supersteps.objects import encode
from bellwren.store import Entry


class Storage:
    """As much of the engine's storage as a barrier uses; requests are counted."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        self.jobs = SimpleNamespace(bucket="jobs")

    async def find(self, key: str, limit: int | None = None) -> bytes | None:
        await asyncio.sleep(0)
        found = self.objects.get(key)
        self.asked["miss" if found is None else "find"] += 1
        return None if found is None else found[:limit]

    async def get(self, bucket: str, key: str) -> bytes:
        await self._asked("get")
        return self.objects[key]

    async def get_range(self, bucket: str, key: str, start: int, end: int) -> bytes:
        await self._asked("range")
        return self.objects[key][start:end]

    async def create(self, bucket: str, key: str, data: bytes) -> bool:
        await self._asked("create")
        return self.objects.setdefault(key, data) is data

    async def list_jobs(self, prefix: str) -> list[Entry]:
        await self._asked("list")
        return [Entry(key, 1, "") for key in sorted(self.objects) if key.startswith(prefix)]

    async def _asked(self, what: str) -> None:
        self.asked[what] += 1
        await asyncio.sleep(0)


def sent(group: int, superstep: int, groups: int, size: int = 10) -> bytes:
    """What a group sends: to each group a section that tells of both."""
    sections = [f"{superstep}:{group}>{to}".encode().ljust(size) for to in range(groups)]
    answer = {"active": 1, "sent": groups, "failures": [], "to": [*range(groups)], "sizes": [size] * groups}
    body = b"".join([*sections, b"p"])
    return encode({**answer, "partials": 1, "aggregated": {}, "compute_s": 0.0}, memoryview(body))


async def live(board: Board, mine: range, groups: int, supersteps: range, size: int = 10) -> None:
    """A worker's groups from one superstep to another; what each receives is checked."""
    for group in mine:
        board.expect(group, supersteps.start)
    for superstep in supersteps:
        for group in mine:
            await board.put_up(superstep, group, sent(group, superstep, groups, size))
        complete = await board.complete(superstep)
        for group in mine:
            found = [(await one.section(group)).decode().strip() for one in complete.groups]
            assert found == [f"{superstep}:{other}>{group}" for other in range(groups)]


async def job(storage: Any, workers: int, groups: int, supersteps: range, size: int = 10) -> list[Board]:
    runs = [range(one * groups // workers, (one + 1) * groups // workers) for one in range(workers)]
    boards = [Board(storage, "j", groups, gathers=0 in run) for run in runs]
    lives = (live(board, run, groups, supersteps, size) for board, run in zip(boards, runs, strict=True))
    await asyncio.gather(*lives)
    return boards


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barrier, "pause_s", lambda waited_s: 0)
    monkeypatch.setattr(barrier.FirstLook, "learn", lambda self, in_vain: None)


def test_a_superstep_of_few_workers_takes_a_handful_of_requests_and_no_listing() -> None:
    storage = Storage()
    asyncio.run(job(storage, 4, 4, range(50)))
    assert storage.asked["create"] == 50 * 4, "three groups and the superstep itself"
    assert storage.asked["find"] == 50 * (3 + 3), (
        "the gathering worker reads three, and three read what it made"
    )
    assert storage.asked["get"] == storage.asked["range"] == storage.asked["list"] == 0


def test_groups_of_one_worker_meet_without_storage() -> None:
    storage = Storage()
    asyncio.run(job(storage, 1, 5, range(20)))
    assert storage.asked["create"] == len(storage.objects) == 20


def test_many_groups_are_listed_and_not_asked_for_one_by_one() -> None:
    storage = Storage()
    asyncio.run(job(storage, 30, 30, range(3)))
    assert storage.asked["list"] >= 3
    assert storage.asked["create"] == 3 * 30


def test_large_messages_are_read_by_those_that_they_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barrier, "_WHOLE_BYTES", 1000)
    storage = Storage()
    asyncio.run(job(storage, 3, 3, range(4), size=70_000))
    complete = storage.objects[layout.complete("j", 2)]
    assert len(complete) < 2000, "headers alone"
    assert len(storage.objects) == 4 * (3 + 1)


def test_a_thousand_supersteps_take_a_thousand_times_the_requests_of_one_and_no_more_memory() -> None:
    storage = Storage()
    boards = asyncio.run(job(storage, 2, 2, range(1000)))
    assert storage.asked["create"] == storage.asked["find"] == 2 * 1000
    for board in boards:
        kept = (board._own, board._complete, board._unstored)
        assert all(len(one) <= 16 for one in kept), [len(one) for one in kept]


def test_a_worker_that_starts_anew_reads_what_is_complete_and_sends_nothing_again() -> None:
    storage = Storage()
    asyncio.run(job(storage, 2, 4, range(10)))
    before, storage.asked = dict(storage.objects), Counter()
    asyncio.run(job(storage, 2, 4, range(10)))
    assert storage.objects == before


def test_two_gathering_workers_at_once_come_to_the_same() -> None:
    async def twice(storage: Any) -> None:
        await asyncio.gather(job(storage, 2, 4, range(30)), job(storage, 2, 4, range(30)))

    storage = Storage()
    asyncio.run(twice(storage))
    assert len([key for key in storage.objects if key.endswith("complete")]) == 30


def test_a_checkpoint_finds_what_has_no_object_yet_and_others_go_on_from_it() -> None:
    async def run(storage: Any) -> None:
        # The gathering worker has sent in superstep 3, and is lost before all others have.
        board = Board(storage, "j", 2, gathers=True)
        await board.put_up(3, 0, sent(0, 3, 2))
        unstored = board.unstored(3, 0)
        assert unstored == sent(0, 3, 2)
        assert not storage.objects
        await storage.create("jobs", layout.sent("j", 3, 0), unstored)
        # The next one goes on behind its checkpoint, and so does not send again.
        again, other = Board(storage, "j", 2, gathers=True), Board(storage, "j", 2, gathers=False)
        again.expect(0, 4)
        await other.put_up(3, 1, sent(1, 3, 2))
        here, there = await asyncio.gather(again.complete(3), other.complete(3))
        assert [await one.section(1) for one in here.groups] == [await one.section(1) for one in there.groups]
        assert here.at == there.at

    asyncio.run(run(Storage()))


def test_what_is_done_again_after_all_have_met_is_there_for_a_checkpoint() -> None:
    async def run(storage: Any) -> None:
        (board,) = await job(storage, 1, 2, range(3))
        again = Board(storage, "j", 2, gathers=True)
        again.expect(1, 2)
        await again.complete(2)
        await again.put_up(2, 1, sent(1, 2, 2))
        assert again.unstored(2, 1) == board.unstored(2, 1) == sent(1, 2, 2)

    asyncio.run(run(Storage()))
