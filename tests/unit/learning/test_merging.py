"""Which records a training learns from: damaged ones, duplicates, runs that are no labels, demands without news."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bellwren import layout
from bellwren.learning import merging
from bellwren.learning.collect import Collected
from bellwren.learning.merging import MOST_BYTES, merge
from bellwren.learning.quarantine import quarantined
from bellwren.learning.registry import PublishedMeanwhile
from tests.unit.learning.loop import Loop
from tests.unit.learning.memory import Bucket, put, record


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


def test_a_cold_run_is_learned_from_only_where_the_same_was_not_run_warm() -> None:
    records = Bucket()
    put(records, 1, workers=2, cold_starts=2)
    put(records, 2, workers=2, cold_starts=0)
    put(records, 3, workers=4, cold_starts=2)
    merged = merge(records, "grep")  # type: ignore[arg-type]
    assert [one.execution.workers for one in merged.labels] == [2, 4]
    assert [one.cold for one in merged.labels] == [False, True]
    assert merged.set_aside == 1
