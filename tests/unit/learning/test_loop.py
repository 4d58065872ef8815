"""The loop without AWS and without PyTorch: ticks, trainings, duplicates, crashes, damaged records."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import layout
from bellwren.learning.collect import AT_ONCE, LEASE_S, Collected, Tick
from bellwren.learning.merging import merge
from bellwren.learning.quarantine import quarantined
from bellwren.learning.registry import PublishedMeanwhile
from bellwren.learning.state import LearningState
from bellwren.learning.training import Lesson, Task
from tests.unit.learning.memory import Bucket, Queue, put


class Loop:
    """Trainings are started by hand, so that a test says what happens between."""

    def __init__(self) -> None:
        self.records, self.models, self.queue = Bucket("records"), Bucket("models"), Queue()
        self.now = 1000.0
        self.started: list[tuple[str, str]] = []
        self.lessons: list[list[str]] = []
        self.metrics: list[tuple[dict[str, float], str]] = []
        self.broken: Exception | None = None

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
            self.lessons.append([one.parsed.job_id for one in lesson.labels])
            return {"outcome": "PUBLISHED", "reason": "better", "version": f"v{len(self.lessons)}"}

        algorithm, batch = self.started[at]
        task = Task(
            algorithm, batch, self.records, self.models, self.queue, learn,  # type: ignore[arg-type]
            lambda values, algorithm: self.metrics.append((dict(values), algorithm)),
        )  # fmt: skip
        return task.run(invocation)

    def state(self, algorithm: str = "grep") -> dict[str, Any]:
        return LearningState(self.models, algorithm).read()  # type: ignore[arg-type]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr(
        "bellwren.learning.training.LearningState", lambda *of: LearningState(*of, lambda: made.now)
    )
    return made


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


def test_a_training_that_vanishes_without_a_word_is_followed_by_another_when_its_lease_is_over(
    loop: Loop,
) -> None:
    loop.put(1)
    loop.tick()
    loop.queue.give_back(list(loop.queue.hidden))
    assert loop.tick().busy == ["grep"]
    loop.queue.give_back(list(loop.queue.hidden))
    loop.now += LEASE_S + 1
    assert list(loop.tick().started) == ["grep"]
    assert loop.train(0)["outcome"] == "SUPERSEDED"
    assert loop.train(1)["outcome"] == "PUBLISHED"


def test_a_training_that_cannot_be_started_holds_no_lease(loop: Loop) -> None:
    loop.put(1)

    def refuse(algorithm: str, batch: str) -> None:
        raise ConnectionError("throttled")

    tick = Tick(loop.queue, loop.records, loop.models, refuse)  # type: ignore[arg-type]
    with pytest.raises(ConnectionError):
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


def test_a_cold_run_is_learned_from_only_where_the_same_was_not_run_warm() -> None:
    records = Bucket()
    put(records, 1, workers=2, cold_starts=2)
    put(records, 2, workers=2, cold_starts=0)
    put(records, 3, workers=4, cold_starts=2)
    merged = merge(records, "grep")  # type: ignore[arg-type]
    assert [one.parsed.document["workers"] for one in merged.labels] == [2, 4]
    assert [one.parsed.label.cold for one in merged.labels] == [False, True]
    assert merged.set_aside == 1
