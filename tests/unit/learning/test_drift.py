"""Drift: seen, sent as metrics, answered by a training, and judged again."""

from __future__ import annotations

import itertools

import pytest

from bellwren.learning.calibration import WINDOW
from bellwren.learning.merging import merge
from bellwren.learning.registry import PublishedMeanwhile
from tests.unit.learning.loop import Loop
from tests.unit.learning.memory import Bucket, put


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
