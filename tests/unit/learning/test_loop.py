"""The loop without AWS and without PyTorch: ticks, trainings, leases, duplicates and crashes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import layout
from bellwren.learning.collect import AT_ONCE, Collected, Tick, TrainingsNotStarted
from bellwren.learning.registry import Registry
from bellwren.learning.state import LEASE_S, START_S, LearningState
from bellwren.learning.training import Lesson, Task
from tests.unit.learning.loop import Loop
from tests.unit.learning.memory import Bucket, put


def test_an_empty_queue_starts_nothing_and_reads_no_bucket(loop: Loop) -> None:
    loop.records = loop.models = None  # type: ignore[assignment]
    assert loop.tick() == Collected()


def test_each_algorithm_with_news_gets_one_training_and_no_other_does(loop: Loop) -> None:
    loop.put(1, 2, 3)
    loop.put(4, algorithm="sort")
    put(loop.records, 5, "idle")
    assert set(loop.tick().started) == {"grep", "sort"}
    assert [algorithm for algorithm, _ in loop.started] == ["grep", "sort"]


def test_a_tick_starts_a_bounded_number_of_trainings_and_leaves_the_rest_in_the_queue(loop: Loop) -> None:
    for number in range(AT_ONCE + 3):
        loop.put(number, algorithm=f"a{number:02}")
    assert len(loop.tick().started) == AT_ONCE
    assert len(loop.queue.messages) == 3
    assert len(loop.tick().started) == 3


def test_a_training_learns_from_all_records_and_deletes_its_messages(loop: Loop) -> None:
    loop.put(1, 2)
    loop.tick()
    assert loop.train()["outcome"] == "PUBLISHED"
    loop.put(3)
    loop.tick()
    loop.train()
    assert loop.lessons == [["job-001", "job-002"], ["job-001", "job-002", "job-003"]]
    assert not loop.queue.messages
    assert not loop.queue.hidden


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_duplicate_and_reordered_events_start_no_second_training(order: list[int]) -> None:
    loop = Loop()
    keys = [put(loop.records, number) for number in range(4)]
    loop.queue.announce(keys[0])
    assert list(loop.tick().started) == ["grep"]
    loop.now = 0.0
    LearningState(loop.models, "grep").settle(  # type: ignore[arg-type]
        loop.started[0][1], fingerprint=_fingerprint(loop)
    )
    for number in order:
        loop.queue.announce(keys[number])
    assert loop.tick() == Collected(messages=len(order), unchanged=["grep"])
    assert set(loop.queue.hidden) == {"receipt-1"}  # the first training's, which deletes it itself


def _fingerprint(loop: Loop) -> str:
    from bellwren.learning.state import fingerprint

    return fingerprint(reversed(list(loop.records.list(layout.records("grep")))))


def test_ticks_that_overlap_start_one_training_between_them(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.put(2)
    assert loop.tick().busy == ["grep"]
    assert len(loop.started) == 1
    loop.train()
    assert loop.lessons == [["job-001", "job-002"]]
    loop.queue.give_back(list(loop.queue.hidden))  # its time is up
    assert loop.tick().unchanged == ["grep"]


def test_a_training_that_is_delivered_twice_runs_once(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    _, batch = loop.started[0]
    state = LearningState(loop.models, "grep", lambda: loop.now)  # type: ignore[arg-type]
    assert state.take_up(batch, "first")
    assert loop.train(invocation="second")["outcome"] == "SUPERSEDED"
    assert loop.train(invocation="first")["outcome"] == "PUBLISHED"
    assert loop.train(invocation="first")["outcome"] == "SUPERSEDED"
    assert len(loop.lessons) == 1


def test_a_training_that_fails_gives_its_messages_back_and_is_tried_at_the_next_tick(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.broken = RuntimeError("no such layer")
    with pytest.raises(RuntimeError):
        loop.train()
    assert loop.state()["last"]["reason"] == "RuntimeError: no such layer"
    assert len(loop.queue.messages) == 1
    loop.broken = None
    assert list(loop.tick().started) == ["grep"]
    assert loop.train()["outcome"] == "PUBLISHED"


def test_a_training_that_never_begins_is_followed_by_another_when_its_time_to_begin_is_over(
    loop: Loop,
) -> None:
    loop.put(1)
    loop.tick()
    loop.queue.give_back(list(loop.queue.hidden))
    assert loop.tick().busy == ["grep"]
    loop.queue.give_back(list(loop.queue.hidden))
    loop.now += START_S + 1
    assert list(loop.tick().started) == ["grep"]
    assert loop.train(0)["outcome"] == "SUPERSEDED"
    assert loop.train(1)["outcome"] == "PUBLISHED"
    assert loop.lesson.vanished == 0


def test_an_event_that_is_delivered_late_still_trains_where_nobody_else_does(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.now += 10 * START_S
    assert loop.train()["outcome"] == "PUBLISHED"


def vanish(loop: Loop) -> None:
    """A training is begun and killed; nobody waits for it for longer than its lease."""
    loop.demand("grep")
    state = LearningState(loop.models, "grep", lambda: loop.now)  # type: ignore[arg-type]
    assert state.take_up(loop.started[-1][1], "killed")
    assert loop.demand("grep").busy == ["grep"]
    loop.now += LEASE_S + 1


def test_a_training_that_is_killed_is_not_waited_for_and_the_next_one_takes_less(loop: Loop) -> None:
    loop.put(1)
    vanish(loop)
    vanish(loop)
    loop.demand("grep")
    loop.train()
    assert loop.lesson.vanished == 2
    loop.demand("grep")
    loop.train()
    assert loop.lesson.vanished == 1, "it had time to spare, so the next one may take more again"


def test_a_training_without_enough_memory_is_followed_by_one_that_takes_less(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.broken = MemoryError()
    with pytest.raises(MemoryError):
        loop.train()
    loop.broken = None
    loop.tick()
    loop.train()
    assert loop.lesson.vanished == 1


def test_what_has_ended_in_time_only_because_it_took_less_takes_no_more_the_next_time(loop: Loop) -> None:
    loop.put(1)
    vanish(loop)
    loop.until = time.monotonic()  # all of it was needed
    for _ in range(2):
        loop.demand("grep")
        loop.train()
        assert loop.lesson.vanished == 1


def test_a_training_that_lives_renews_its_lease_and_loses_it_only_to_another(loop: Loop) -> None:
    state = LearningState(loop.models, "grep", lambda: loop.now)  # type: ignore[arg-type]
    assert state.take("one")
    assert state.take_up("one", "first")
    with state.kept("one", "first", every_s=0.001):
        for _ in range(5):
            loop.now += LEASE_S * 0.9
            before = loop.now
            _until(lambda: state.read()["lease"]["until"] > before + LEASE_S * 0.9)
            assert not state.take("two")
    loop.now += LEASE_S + 1
    assert state.take("two")
    assert not state.renew("one", "first")
    assert not state.settle("one", last={})
    assert state.read()["lease"]["batch"] == "two"


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("content", [b"[[[", b"null", b'{"lease": 7}', b'{"lease": {"until": "x"}}'])
def test_a_damaged_note_of_how_learning_stands_stops_no_algorithm(loop: Loop, content: bytes) -> None:
    loop.models.put(layout.learning("grep"), content)
    loop.put(1)
    assert list(loop.tick().started) == ["grep"]
    assert loop.train()["outcome"] == "PUBLISHED"


def test_one_algorithms_trouble_keeps_no_other_from_its_training(loop: Loop) -> None:
    loop.put(1, algorithm="a")
    loop.put(2, algorithm="b")

    def refuse(algorithm: str, batch: str) -> None:
        if algorithm == "a":
            raise ConnectionError("throttled")
        loop.started.append((algorithm, batch))

    tick = Tick(loop.queue, loop.records, loop.models, refuse)  # type: ignore[arg-type]
    with pytest.raises(TrainingsNotStarted, match="of: a; started: b"):
        tick.collect()
    assert [algorithm for algorithm, _ in loop.started] == ["b"]


@pytest.mark.parametrize("name", ["grep/2026", "grep/", "..", "", "a b", "x" * 65, "records/grep"])
def test_what_cannot_be_an_algorithm_has_no_records_of_its_own_and_moves_nobody_elses(
    loop: Loop, name: str
) -> None:
    (key,) = loop.put(1)
    assert loop.demand(name) == Collected(unknown=[name])
    with pytest.raises(ValueError, match="the algorithm is"):
        Task(name, "batch", loop.records, loop.models, loop.queue, None, None)  # type: ignore[arg-type]
    assert loop.records.find(key)


def test_a_crash_at_any_write_leaves_a_whole_model_in_service_and_the_next_training_ends_well(
    loop: Loop,
) -> None:
    def publish(lesson: Lesson) -> dict[str, Any]:
        version = f"v{len(lesson.labels)}-{len(loop.started)}"
        before = lesson.registry.current("grep")
        lesson.registry.add("grep", version, b"onnx", {"version": version}, [])
        lesson.registry.publish("grep", version, before)
        return {"outcome": "PUBLISHED", "reason": "better", "version": version}

    def train(models: Bucket) -> None:
        algorithm, batch = loop.started[-1]
        Task(
            algorithm, batch, loop.records, models, loop.queue, publish, lambda *_: None,  # type: ignore[arg-type]
            clock=lambda: loop.now,
        ).run("once")  # fmt: skip

    loop.put(1)
    loop.tick()
    train(loop.models)
    crashes = 0
    for at in itertools.count(1):
        loop.put(at + 1)
        loop.demand("grep")
        failing = _Failing(loop.models, at)
        try:
            train(failing)
        except _KilledError:
            crashes += 1
        registry = Registry(loop.models)  # type: ignore[arg-type]
        version = registry.current("grep").version
        assert version in registry.versions("grep"), f"after a crash at write {at}"
        loop.now += LEASE_S + 1
        loop.demand("grep")
        train(loop.models)
        assert registry.current("grep").version == f"v{at + 1}-{len(loop.started)}"
        if failing.writes < at:
            break
    assert crashes >= 5


class _KilledError(BaseException):
    """Not even an `Exception`: nothing is tidied up."""


class _Failing(Bucket):
    """Shares another's objects; from its n-th write on, the process is gone."""

    def __init__(self, other: Bucket, at: int) -> None:
        super().__init__(other.bucket)
        self.objects, self._at, self.writes = other.objects, at, 0

    def put(self, key: str, data: bytes) -> None:
        self.writes += 1
        if self.writes >= self._at:
            raise _KilledError
        super().put(key, data)


def test_a_training_that_cannot_be_started_holds_no_lease(loop: Loop) -> None:
    loop.put(1)

    def refuse(algorithm: str, batch: str) -> None:
        raise ConnectionError("throttled")

    tick = Tick(loop.queue, loop.records, loop.models, refuse)  # type: ignore[arg-type]
    with pytest.raises(TrainingsNotStarted, match="grep"):
        tick.collect()
    loop.queue.give_back(list(loop.queue.hidden))
    assert list(loop.tick().started) == ["grep"]
