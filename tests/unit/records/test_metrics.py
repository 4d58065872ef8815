from __future__ import annotations

from typing import Any

import pytest

from bellwren.records.metrics import JOB_METRICS, job_metrics

RECORD: dict[str, Any] = {
    "outcome": "SUCCEEDED",
    "label": True,
    "runtime_s": 12.0,
    "cost_usd": 0.002,
    "billed_gb_s": 30.5,
    "cold_starts": 3,
    "lost_runners": 1,
    "stages": [{"reinvocations": 1, "queue_s": 0.5}, {"reinvocations": 2, "queue_s": 1.5}],
    "forecast": {"runtime_s": 9.0, "runtime_p95_s": 15.0},
}


def test_a_job_tells_what_it_took_cost_and_how_its_forecast_turned_out() -> None:
    assert job_metrics(RECORD) == {
        **{"Jobs": 1, "JobsFailed": 0, "RuntimeS": 12, "CostUsd": 0.002, "BilledGbS": 30.5, "ColdStarts": 3},
        **{"Retries": 3, "LostRunners": 1, "QueueS": 2, "RunError": 0.25, "RunWithin95": 1},
    }


def test_a_run_beyond_its_quantile_counts_against_the_coverage() -> None:
    assert job_metrics({**RECORD, "runtime_s": 15.1})["RunWithin95"] == 0


@pytest.mark.parametrize("change", [{"forecast": None}, {"label": False}])
def test_only_runs_that_had_a_forecast_and_count_are_held_against_it(change: dict[str, Any]) -> None:
    told = job_metrics({**RECORD, **change})
    assert not {"RunError", "RunWithin95"} & set(told)
    assert set(told) < set(JOB_METRICS)


def test_a_job_that_failed_counts_as_one() -> None:
    told = job_metrics({**RECORD, "outcome": "FAILED", "label": False})
    assert (told["Jobs"], told["JobsFailed"]) == (1, 1)
