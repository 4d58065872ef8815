from __future__ import annotations

from typing import Any

import pytest

from bellwren.learning.calibration import LEAST, WINDOW, Outcome, calibration, outcome

RECORD: dict[str, Any] = {
    "workers": 4, "memory_mb": 1769, "runtime_s": 11.0, "started_at": "2026-11-30",
    "forecast": {"workers": 4, "memory_mb": 1769, "runtime_s": 10.0, "runtime_p95_s": 12.0},
    "model": {"version": "v1"},
}  # fmt: skip


def runs(count: int, runtime_s: float = 10.0) -> list[Outcome]:
    return [Outcome(f"{number:03}", runtime_s, 10.0, 12.0) for number in range(count)]


def test_a_record_tells_what_was_expected_and_what_came() -> None:
    assert outcome(RECORD) == Outcome("2026-11-30", 11.0, 10.0, 12.0)


@pytest.mark.parametrize(
    "changed",
    [
        {"model": None}, {"forecast": None}, {"forecast": {}}, {"workers": 5}, {"memory_mb": 512},
        {"runtime_s": 0}, {"forecast": {**RECORD["forecast"], "runtime_p95_s": float("inf")}},
    ],
)  # fmt: skip
def test_a_forecast_that_no_model_made_or_nobody_followed_says_nothing(changed: dict[str, Any]) -> None:
    assert outcome({**RECORD, **changed}) is None


def test_a_few_runs_say_nothing_yet() -> None:
    found = calibration(runs(LEAST - 1, runtime_s=100.0), 0.1)
    assert (found.drifted, found.coverage95, found.error) == (False, None, None)


def test_runs_near_their_forecast_are_in_the_band() -> None:
    found = calibration(runs(20, runtime_s=10.5), 0.05)
    assert (found.drifted, found.coverage95, found.reason) == (False, 1.0, "in its band")


def test_one_run_of_twenty_beyond_the_quantile_is_no_drift() -> None:
    assert not calibration([*runs(19), *runs(1, runtime_s=13.0)], 0.1).drifted


def test_runs_beyond_the_quantile_are_drift_and_so_is_an_error_far_above_the_promised() -> None:
    slow = calibration(runs(10, runtime_s=12.5), 0.3)
    assert slow.drifted
    assert "quantile held in 0%" in slow.reason
    fast = calibration(runs(10, runtime_s=5.0), 0.1)
    assert (fast.drifted, fast.coverage95) == (True, 1.0)
    assert "error of 100% is above 30%" in fast.reason
    assert not calibration(runs(10, runtime_s=5.0), 0.4).drifted


def test_only_the_last_runs_count() -> None:
    assert not calibration([*runs(50, runtime_s=99.0), *runs(WINDOW)], 0.1).drifted
