"""Supersteps in the state machine: rounds of their own state, and a history that does not grow with them."""

from __future__ import annotations

import json

from tests.infra.test_job_runs import FINISH, GOOD, PLAN, STATES, WORKER, run, step


def test_a_round_of_supersteps_has_a_state_of_its_own_and_comes_back_to_plan() -> None:
    plans = [step("BSP", "supersteps", 0, 4), step("BSP", "supersteps", 1, 2), step("FINISH")]
    execution, functions = run(**{PLAN: plans, FINISH: GOOD[FINISH]})
    assert execution.status == "SUCCEEDED"
    assert execution.entered.count("Bsp") == 2
    assert [payload["worker"] for payload in functions.payloads(WORKER)] == [0, 1, 2, 3, 0, 1]


def test_supersteps_run_within_a_round_so_ten_thousand_of_them_are_one_entry() -> None:
    execution, _ = run(**{PLAN: [step("BSP", "supersteps", 0, 4), step("FINISH")]})
    assert len(execution.entered) < 12


def test_the_rounds_of_all_kinds_are_made_alike() -> None:
    told = {
        name: json.dumps({**STATES[name], "Label": ""}).replace(f"{name}Worker", "Worker")
        for name in ("Map", "Reduce", "Bsp")
    }
    assert told["Map"] == told["Reduce"] == told["Bsp"]
