"""Waiting for an earlier job: how often, and for whom never."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import SpecError
from bellwren.control.earlier import InputFailed, pause_s, wait_s

YEAR_S = 365 * 86_400
EVENTS_OF_A_LOOK = 9
LONGEST_HISTORY = 25_000


@given(waited_s=st.floats(0, YEAR_S))
def test_a_wait_is_whole_seconds_and_small_beside_what_was_waited(waited_s: float) -> None:
    pause = pause_s(waited_s)
    assert isinstance(pause, int)
    assert 1 <= pause <= max(1, waited_s / 8 + 1)


def test_a_year_of_waiting_fits_into_the_history_of_an_execution() -> None:
    waited_s, looks = 0.0, 0
    while waited_s < YEAR_S:
        waited_s += pause_s(waited_s)
        looks += 1
    assert looks * EVENTS_OF_A_LOOK < LONGEST_HISTORY * 0.8


class Jobs:
    """The documents of a jobs bucket, in memory."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self._documents = documents

    def get_json(self, key: str) -> Any:
        return self._documents[key]

    def find_json(self, key: str) -> Any:
        return self._documents.get(key)

    def head(self, key: str) -> Any:
        return self._documents.get(key)


def waiting(job_id: str, *, waited_s: float = 5.0, **statuses: Any) -> Any:
    """What job ``job_id``, whose input is job a, is told; ``statuses`` are those of other jobs."""
    at = (datetime.now(UTC) - timedelta(seconds=waited_s)).isoformat()
    documents: dict[str, Any] = {f"jobs/{job_id}/claim.json": {"at": at}}
    documents |= {f"jobs/{name}/status.json": status for name, status in statuses.items()}
    document: Any = SimpleNamespace(input=SimpleNamespace(job="a"))
    store: Any = Jobs(documents)
    return wait_s(document, job_id, store)


def test_a_job_with_another_input_waits_for_nothing() -> None:
    document: Any = SimpleNamespace(input=None)
    store: Any = Jobs({})
    assert wait_s(document, "b", store) == 0


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
def test_it_waits_while_the_earlier_job_runs(status: str) -> None:
    assert waiting("b", a={"status": status}) == 1
    assert waiting("b", waited_s=400, a={"status": status}) in (50, 51)


def test_it_goes_on_when_the_earlier_job_has_succeeded() -> None:
    assert waiting("b", a={"status": "SUCCEEDED"}) == 0


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            {"status": "FAILED", "error": {"type": "TaskError", "message": "1 of 2"}},
            "a, .* failed: TaskError: 1 of 2",
        ),
        ({"status": "CANCELLED", "error": None}, "a, .* was cancelled"),
        ({"status": "REJECTED", "error": {"type": "SpecError", "message": "x"}}, "a, .* was refused"),
    ],
)
def test_it_fails_with_the_earlier_job_and_names_it(status: dict[str, Any], said: str) -> None:
    with pytest.raises(InputFailed, match=said):
        waiting("b", a=status)


def test_a_job_that_is_not_there_yet_is_given_some_time() -> None:
    assert waiting("b", waited_s=2) == 1
    with pytest.raises(SpecError, match="there is none of this id"):
        waiting("b", waited_s=60)


def test_jobs_that_wait_for_each_other_are_refused_with_the_circle() -> None:
    with pytest.raises(SpecError, match="a ▸ a"):
        waiting("a", a={"status": "QUEUED"})
    circle = {"a": {"status": "QUEUED", "waits_for": "c"}, "c": {"status": "QUEUED", "waits_for": "b"}}
    with pytest.raises(SpecError, match="b ▸ a ▸ c ▸ b"):
        waiting("b", **circle)
    assert waiting("d", **circle | {"c": {"status": "RUNNING"}}) == 1
