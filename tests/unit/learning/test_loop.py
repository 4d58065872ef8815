"""The loop without AWS and without PyTorch: ticks, trainings, duplicates, crashes, damaged records."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import layout
from bellwren.learning import merging
from bellwren.learning.calibration import WINDOW
from bellwren.learning.collect import AT_ONCE, Collected, Tick, TrainingsNotStarted
from bellwren.learning.merging import MOST_BYTES, merge
from bellwren.learning.quarantine import quarantined
from bellwren.learning.registry import PublishedMeanwhile, Registry
from bellwren.learning.state import LEASE_S, START_S, LearningState
from bellwren.learning.training import Lesson, Task
from tests.unit.learning.memory import Bucket, Queue, put, record


class Loop:
    """Trainings are started by hand, so that a test says what happens between."""

    def __init__(self) -> None:
        self.records, self.models, self.queue = Bucket("records"), Bucket("models"), Queue()
        self.now = 1000.0
        self.started: list[tuple[str, str]] = []
        self.lessons: list[list[str]] = []
        self.metrics: list[tuple[dict[str, float], str]] = []
        self.broken: Exception | None = None
        self.until = math.inf

    def put(self, *numbers: int, algorithm: str = "grep", **changed: Any) -> list[str]:
        keys = [put(self.records, number, algorithm, **changed) for number in numbers]
        for key in keys:
            self.queue.announce(key)
        return keys

    def tick(self) -> Collected:
        return self._tick().collect()

    def demand(self, algorithm: str) -> Collected:
        return self._tick().demand(algorithm)

    def _tick(self) -> Tick:
        def start(algorithm: str, batch: str) -> None:
            self.started.append((algorithm, batch))

        return Tick(self.queue, self.records, self.models, start, clock=lambda: self.now)  # type: ignore[arg-type]

    def train(self, at: int = -1, invocation: str = "first") -> dict[str, Any]:
        def learn(lesson: Lesson) -> dict[str, Any]:
            if self.broken:
                raise self.broken
            self.lessons.append([one.job_id for one in lesson.labels])
            self.lesson = lesson
            return {"outcome": "PUBLISHED", "reason": "better", "version": f"v{len(self.lessons)}"}

        algorithm, batch = self.started[at]
        task = Task(
            algorithm, batch, self.records, self.models, self.queue, learn,  # type: ignore[arg-type]
            lambda values, algorithm: self.metrics.append((dict(values), algorithm)),
            until=self.until, clock=lambda: self.now,
        )  # fmt: skip
        return task.run(invocation)

    def state(self, algorithm: str = "grep") -> dict[str, Any]:
        return LearningState(self.models, algorithm).read()  # type: ignore[arg-type]


@pytest.fixture
def loop() -> Loop:
    return Loop()


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


def test_a_message_that_names_no_record_stays_for_the_dead_letters(loop: Loop) -> None:
    for body in (
        "",
        "{",
        "[]",
        '{"detail": {"object": {"key": 7}}}',
        '{"detail": {"object": {"key": "records/x"}}}',
    ):
        loop.queue.send(body)
    assert loop.tick() == Collected(messages=5, strange=5)
    assert len(loop.queue.hidden) == 5


def test_a_damaged_record_is_moved_whole_with_its_reason_and_rings_an_alarm(loop: Loop) -> None:
    (good,) = loop.put(1)
    bad = ["records/grep/2026/11/30/a.json", "records/grep/2026/11/30/b.json"]
    loop.records.put(bad[0], b"\xff{")
    put(loop.records, 7, "sort")
    loop.records.objects[bad[1]] = loop.records.objects.pop("records/sort/2026/11/30/job-007.json")
    loop.tick()
    said = loop.train()
    assert (said["records"], said["quarantined"]) == (1, 2)
    assert list(loop.records.list(layout.RECORDS)) == list(loop.records.list(good))
    assert loop.records.get("quarantine/grep/2026/11/30/a.json") == b"\xff{"
    reasons = [one["reason"] for one in quarantined(loop.records, "grep")]  # type: ignore[arg-type]
    assert "not JSON" in reasons[0]
    assert "the key says 'grep'" in reasons[1]
    assert loop.metrics == [({"Quarantined": 2}, "grep")]


def test_what_is_too_large_to_be_a_record_is_moved_without_being_read(loop: Loop) -> None:
    loop.put(1)
    key = "records/grep/2026/11/30/huge.json"
    loop.records.put(key, b"{" + b" " * MOST_BYTES)
    loop.records.find = lambda at: loop.records.get(at) if at != key else pytest.fail("read")  # type: ignore[method-assign]
    loop.tick()
    assert loop.train()["quarantined"] == 1
    assert len(loop.records.objects[layout.quarantined(key)]) == MOST_BYTES + 1
    assert "at most 16,777,216 are read" in next(quarantined(loop.records, "grep"))["reason"]  # type: ignore[arg-type]


def test_records_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH", 3)
    monkeypatch.setattr(merging, "_BATCH_BYTES", 2 * len(json.dumps(record(0))))
    records = Bucket()
    for number in range(20):
        put(records, number)
    assert len(merge(records, "grep").labels) == 20  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed", [{"outcome": "FAILED"}, {"outcome": "CANCELLED"}, {"contended": True}, {"label": False}]
)
def test_a_run_that_is_no_label_starts_no_fit(loop: Loop, changed: dict[str, Any]) -> None:
    loop.put(1)
    loop.tick()
    loop.train()
    loop.put(2, **changed)
    loop.tick()
    said = loop.train()
    assert (said["outcome"], said["set_aside"]) == ("KEPT", 1)
    assert "no new record" in said["reason"]
    assert len(loop.lessons) == 1


def test_a_demand_trains_whether_there_is_news_or_not(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.train()
    assert list(loop.demand("grep").started) == ["grep"]
    loop.train()
    assert len(loop.lessons) == 2


def test_a_demand_for_an_algorithm_without_records_starts_nothing(loop: Loop) -> None:
    assert loop.demand("sort") == Collected(unknown=["sort"])
    assert not loop.models.objects


def test_one_run_under_two_keys_is_learned_from_once(loop: Loop) -> None:
    loop.put(1)
    loop.records.put_json("records/grep/2026/12/01/copy.json", loop.records.get_json(*loop.put(1)))
    loop.tick()
    assert loop.train()["repeated"] == 1
    assert loop.lessons == [["job-001"]]


def test_a_model_that_was_published_meanwhile_is_no_failure(loop: Loop) -> None:
    loop.put(1)
    loop.tick()
    loop.broken = PublishedMeanwhile("another")
    assert loop.train()["outcome"] == "KEPT"
    assert not loop.queue.hidden


def test_drift_is_seen_and_sent_as_metrics(loop: Loop) -> None:
    forecast = {"workers": 2, "memory_mb": 1769, "runtime_s": 10.0, "runtime_p95_s": 12.0}
    for number in itertools.islice(itertools.count(1, 4), 6):
        loop.put(number, runtime_s=40.0, forecast=forecast, model={"version": "v0"})
    loop.tick()
    loop.train()
    state = loop.state()["calibration"]
    assert (state["runs"], state["coverage95"], state["drifted"]) == (6, 0.0, True)
    assert loop.metrics == [({"Coverage95": 0.0, "ForecastError": 0.75, "Drifted": 1.0}, "grep")]


def test_a_change_of_the_world_is_remembered_and_what_answers_it_is_judged_by_its_own_forecasts(
    loop: Loop,
) -> None:
    def runs(numbers: range, runtime_s: float, expected_s: float) -> None:
        for number in numbers:
            forecast = {"memory_mb": 1769, "runtime_s": expected_s, "runtime_p95_s": 1.2 * expected_s}
            told = {**forecast, "workers": 1 + number % 4}
            loop.put(number, runtime_s=runtime_s, forecast=told, model={"version": "v"})
        loop.tick()
        loop.train()

    runs(range(40), 10.0, 10.0)
    assert (loop.lesson.drifted, loop.lesson.since) == (False, "")
    runs(range(40, 80), 40.0, 10.0)
    assert loop.lesson.drifted
    assert loop.lesson.since == f"2026-11-30T12:00:{80 - WINDOW}+00:00"
    year = loop.put(80, started_at="2999-01-01T00:00:00Z", runtime_s=40.0)
    assert year
    loop.tick()
    loop.train()
    assert (loop.lesson.drifted, loop.lesson.since) == (False, f"2026-11-30T12:00:{80 - WINDOW}+00:00")
    assert loop.state()["calibration"]["runs"] == 0, "none of the forecasts is of the model that answered"


def test_a_change_that_no_model_has_answered_is_judged_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecast = {"workers": 2, "memory_mb": 1769, "runtime_s": 10.0, "runtime_p95_s": 12.0}
    for number in range(1, 24, 4):
        loop.put(number, runtime_s=40.0, forecast=forecast, model={"version": "v0"})
    loop.tick()
    loop.broken = PublishedMeanwhile("another")
    loop.train()
    assert {"since", "answered_at"}.isdisjoint(loop.state())
    assert loop.state()["calibration"]["drifted"]


def test_what_was_expected_without_a_model_stands_beside_the_run() -> None:
    records = Bucket()
    forecast = {"workers": 2, "memory_mb": 1769, "runtime_s": 10.0, "runtime_p95_s": 12.0}
    put(records, 1, forecast=forecast, model=None)
    put(records, 2, workers=2, forecast=forecast, model={"version": "v"})
    put(records, 3, forecast=forecast, model=None)  # of another choice
    put(records, 4)
    assert [one.unaided_s for one in merge(records, "grep").labels] == [10.0, None, None, None]  # type: ignore[arg-type]


def test_a_cold_run_is_learned_from_only_where_the_same_was_not_run_warm() -> None:
    records = Bucket()
    put(records, 1, workers=2, cold_starts=2)
    put(records, 2, workers=2, cold_starts=0)
    put(records, 3, workers=4, cold_starts=2)
    merged = merge(records, "grep")  # type: ignore[arg-type]
    assert [one.execution.workers for one in merged.labels] == [2, 4]
    assert [one.cold for one in merged.labels] == [False, True]
    assert merged.set_aside == 1
