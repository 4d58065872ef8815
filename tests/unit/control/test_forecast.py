"""The Forecast state: what it asks, which candidates there are, and what is taken where no model knows anything."""

from __future__ import annotations

from typing import Any

import pytest

from bellwren.control.forecast import make_forecast
from bellwren.control.sizing import most_tasks
from bellwren.deployment import Deployment
from bellwren.records.execution import context_key
from bellwren.records.labels import properties_of

DEPLOYMENT = Deployment("t", "j", "d", "r", "m", max_workers=50, worker_memory_mb=(1769, 3538))
SPEC: dict[str, Any] = {
    "name": "job",
    "algorithm": "wordcount",
    "kind": "map_reduce",
    "workers": "auto",
    "memory_mb": "auto",
    "objective": "cost",
    "context": {"dataset": "books"},
}
PROFILE: dict[str, Any] = {
    "bytes": 8_000_000_000,
    "items": None,
    "objects": 3,
    "params": {"lower": True},
    "data": {"line_bytes": 80.0},
}


class NoModels:
    def get(self, _algorithm: str) -> None:
        return None


def asked(profile: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    served: Any = NoModels()
    return make_forecast({**SPEC, **changes}, {**PROFILE, **(profile or {})}, DEPLOYMENT, served)


def workers(found: dict[str, Any]) -> set[int]:
    return {row["workers"] for row in found["forecasts"]}


def test_candidates_keep_to_the_quota_and_to_the_memory_sizes_that_are_deployed() -> None:
    found = asked()
    assert max(workers(found)) == 50
    assert {row["memory_mb"] for row in found["forecasts"]} == {1769, 3538}


@pytest.mark.parametrize(
    ("profile", "most"),
    [
        ({"items": 7}, 7),
        ({"bytes": 5 << 20}, 5),
        ({"divisible": False}, 3),
        ({"bytes": 0}, 1),
        ({"items": 0}, 1),
    ],
)
def test_no_candidate_has_more_workers_than_the_input_has_pieces(profile: dict[str, Any], most: int) -> None:
    found = asked(profile)
    assert max(workers(found)) == most
    assert 1 <= found["choice"]["workers"] <= most


def test_what_the_document_fixes_is_fixed_and_a_memory_size_that_is_not_deployed_rounds_up() -> None:
    found = asked(workers=7, memory_mb=2000)
    assert {(row["workers"], row["memory_mb"]) for row in found["forecasts"]} == {(7, 3538)}
    assert (found["choice"]["workers"], found["choice"]["memory_mb"]) == (7, 3538)
    assert asked(workers=5)["choice"]["workers"] == 5
    assert asked(memory_mb=3538)["choice"]["memory_mb"] == 3538


def test_a_deadline_and_a_budget_decide_even_where_there_is_no_model() -> None:
    tight = asked(deadline_s=200.0)
    assert tight["choice"]["meets_deadline"]
    assert tight["choice"]["workers"] > asked(deadline_s=2000.0)["choice"]["workers"]
    broke = asked(budget_usd=1e-6)
    assert not broke["choice"]["meets_budget"]
    assert "no candidate keeps the budget" in broke["reason"]


def test_supersteps_have_a_default_of_their_own_a_worker_for_each_partition() -> None:
    found = asked({"items": 9}, kind="bsp")
    assert found["choice"]["workers"] == 9
    assert found["source"] == "stated default"


def test_a_job_is_of_the_same_context_before_it_runs_and_in_its_record() -> None:
    """Else no model would ever know a context again."""
    before, _ = properties_of({**PROFILE, "tasks": most_tasks(PROFILE), "context": SPEC["context"]}, "job")
    record = {
        **{name: PROFILE[name] for name in ("bytes", "items", "params", "data")},
        "most_tasks": most_tasks(PROFILE),
        "tasks": {"map": 128, "reduce": 4},
        "context": SPEC["context"],
        "kind": "map_reduce",
        "memory_mb": 1769,
    }
    after, kinds = properties_of(record, "record")
    assert context_key(before) == context_key(after)
    assert after["data.line_bytes"] == 80.0
    assert kinds["params.lower"] == "parameter"


def test_every_answer_says_all_that_there_is_to_say() -> None:
    names = {"algorithm", "model", "source", "forecasts", "choice", "reason", "flags"}
    for found in (asked(), asked(deadline_s=1.0), asked(workers=3)):
        assert names <= set(found)
        assert {"workers", "memory_mb", "runtime_s", "runtime_p95_s", "cost_usd", "meets_deadline"} <= set(
            found["choice"]
        )


def test_a_trial_on_a_sample_goes_before_the_guess() -> None:
    slow, fast = asked({"seconds_per_byte": 1e-6}), asked({"seconds_per_byte": 1e-8})
    assert slow["source"] == fast["source"] == "analytic prior"
    assert slow["choice"]["runtime_s"] > 10 * fast["choice"]["runtime_s"]
    assert "measured sample" in slow["reason"]
    assert asked({"seconds_per_byte": None})["source"] == "stated default"
