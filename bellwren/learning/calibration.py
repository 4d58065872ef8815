"""How well forecasts did: the error of the expected runtime, and how often the 95 % quantile held.

Looked at over the last runs of an algorithm. While the quantile holds as often as it should, and the error stays near
that of the model's cross-validation, the model is in its band; beyond it the world has changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WINDOW = 30
"""Runs that are looked at."""
LEAST = 5
"""Runs below which nothing is said."""
QUANTILE = 0.95
CHANCE = 0.01
"""How seldom a model that keeps its promise is taken to have drifted."""
ERROR_FACTOR = 3.0
ERROR_FLOOR = 0.25
"""An error up to this never counts as drift: it is small enough for a choice."""


@dataclass(frozen=True)
class Outcome:
    """A forecast by a model, and what came."""

    started_at: str
    runtime_s: float
    expected_s: float
    high_s: float
    """95 % quantile."""


@dataclass(frozen=True)
class CalibrationState:
    """Over the last runs."""

    runs: int
    coverage95: float | None
    """Share of runs that took no longer than their 95 % quantile."""
    error: float | None
    """Mean of \\|expected - actual\\| / actual."""
    drifted: bool
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """As it stands in ``learning.json``."""
        return dict(vars(self))


def outcome(record: Mapping[str, Any]) -> Outcome | None:
    """What a record says of its forecast; None where no model made one, or it was not followed."""
    expected, runtime = _followed(record), record.get("runtime_s")
    if expected is None or not isinstance(record.get("model"), dict):
        return None
    numbers = [expected.get("runtime_s"), expected.get("runtime_p95_s"), runtime]
    if not all(_positive(number) for number in numbers):
        return None
    usual, high, actual = (float(number) for number in numbers if number is not None)
    return Outcome(str(record.get("started_at") or ""), actual, usual, high)


def unaided(record: Mapping[str, Any]) -> float | None:
    """Seconds that were expected of a run without a model; None where one made the forecast, or it was not followed."""
    expected = _followed(record)
    if expected is None or record.get("model") is not None or not _positive(expected.get("runtime_s")):
        return None
    return float(expected["runtime_s"])


def _followed(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The forecast of the choice that was taken in the end."""
    forecast = record.get("forecast")
    if not isinstance(forecast, dict):
        return None
    same = all(forecast.get(name) == record.get(name) for name in ("workers", "memory_mb"))
    return forecast if same else None


def calibration(
    outcomes: Sequence[Outcome],
    promised_error: float | None,
    *,
    window: int = WINDOW,
    least: int = LEAST,
) -> CalibrationState:
    """Judge the last outcomes.

    Args:
        outcomes: In order of time.
        promised_error: Relative error of the model's own cross-validation (0.1 is 10 %), where it is known.
        window: How many of the last are looked at.
        least: How many it takes to say anything.
    """
    last = outcomes[-window:]
    if len(last) < least:
        return CalibrationState(
            len(last), None, None, drifted=False, reason=f"{len(last)} of at least {least} runs"
        )
    held = sum(one.runtime_s <= one.high_s for one in last)
    coverage = held / len(last)
    error = sum(abs(one.expected_s - one.runtime_s) / one.runtime_s for one in last) / len(last)
    allowed = max(ERROR_FLOOR, ERROR_FACTOR * (promised_error or 0.0))
    reasons = []
    if _chance_of_so_few(held, len(last)) < CHANCE:
        reasons.append(f"the 95 % quantile held in {coverage:.0%} of {len(last)} runs")
    if error > allowed:
        reasons.append(f"the error of {error:.0%} is above {allowed:.0%}")
    return CalibrationState(
        len(last), coverage, error, drifted=bool(reasons), reason=" and ".join(reasons) or "in its band"
    )


def _chance_of_so_few(held: int, runs: int) -> float:
    """Chance that a quantile that holds in 95 % of cases holds in so few or fewer."""
    return sum(
        math.comb(runs, count) * QUANTILE**count * (1 - QUANTILE) ** (runs - count)
        for count in range(held + 1)
    )


def _positive(number: Any) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < number < math.inf
