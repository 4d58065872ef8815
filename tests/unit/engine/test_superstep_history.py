"""The course of a job of supersteps as people read it: bounded, and whole whoever tells it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bellwren.engine.supersteps.history import KEPT, History
from bellwren.engine.supersteps.objects import Sent, Superstep, encode
from bellwren.engine.supersteps.rules import outline


class Storage:
    """Keeps what is put."""

    class jobs:  # noqa: N801  as the engine's storage has it
        bucket = "jobs"

    def __init__(self) -> None:
        self.put: list[Any] = []

    async def put_json(self, key: str, document: Any) -> None:
        self.put.append(document)

    async def create(self, bucket: str, key: str, data: bytes) -> bool:
        self.put.append(json.loads(data))
        return True


def superstep(number: int) -> Superstep:
    """One that took as many seconds as its number says."""
    answer = {"active": 1, "sent": 2, "failures": [], "to": [], "sizes": [], "partials": 0, "compute_s": 0.5}
    return Superstep([Sent(encode({**answer, "aggregated": {}}, memoryview(b"")))], number * (number + 1) / 2)


def told(steps: range, *, after: dict[str, Any] | None = None) -> History:
    """A history of supersteps, that goes on from a checkpoint."""
    history = History(Storage(), "j", 10_000, clock=lambda: 0.0)  # type: ignore[arg-type]
    if after is not None:
        history.restore(json.loads(json.dumps(after)))
    for number in steps:
        history.stepped(number + 1, superstep(number), {"n": number})
    return history


def test_of_ten_thousand_supersteps_a_thousand_are_kept_evenly() -> None:
    kept = told(range(10_000)).as_dict()
    numbers = [one["superstep"] for one in kept["entries"]]
    assert len(numbers) <= KEPT
    assert numbers == list(range(0, 10_000, kept["every"]))


def test_who_goes_on_from_a_checkpoint_tells_the_same_times() -> None:
    whole = told(range(30)).as_dict()
    resumed = told(range(12, 30), after=told(range(12)).as_dict()).as_dict()
    assert resumed == whole
    assert [one["wall_s"] for one in whole["entries"]] == [float(number) for number in range(30)]


def test_what_was_told_already_is_not_told_twice() -> None:
    again = told(range(5, 20), after=told(range(12)).as_dict()).as_dict()
    assert [one["superstep"] for one in again["entries"]] == list(range(20))


def test_the_status_shows_some_supersteps_of_many_and_all_of_few() -> None:
    entries = told(range(1000)).as_dict()["entries"]
    shown = outline(entries, 50)
    assert len(shown) == 50
    assert (shown[0]["superstep"], shown[-1]) == (0, {"superstep": 999, "aggregates": {"n": 999}})
    assert [one["superstep"] for one in outline(entries[:7], 50)] == list(range(7))
    assert outline([], 50) == []


def test_the_end_holds_the_whole_course() -> None:
    history = told(range(3))

    async def end() -> None:
        await history.end("halted", 4, superstep(3), {"n": 3}, [])

    asyncio.run(end())
    (document,) = history._io.put  # type: ignore[attr-defined]
    assert [one["aggregates"]["n"] for one in document["history"]] == [0, 1, 2, 3]
    assert (document["ended"], document["supersteps"], document["failed"]) == ("halted", 4, [])
