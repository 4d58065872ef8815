"""The state machine as a graph: every way in, every way out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from infra import job_definition, sizes
from infra.settings import Settings

SETTINGS = Settings(max_workers=700, worker_timeout_s=600, job_timeout_s=7200)
DEFINITION = job_definition.job_definition(SETTINGS)
STATES = DEFINITION["States"]
MAPS = ("Map", "Reduce", "Bsp")


def machines():
    yield DEFINITION
    for name in MAPS:
        yield STATES[name]["ItemProcessor"]


def every_state() -> Iterator[tuple[str, dict]]:
    for machine in machines():
        yield from machine["States"].items()


def targets(state) -> Iterator[str]:
    if "Next" in state:
        yield state["Next"]
    if "Default" in state:
        yield state["Default"]
    for rule in (*state.get("Choices", []), *state.get("Catch", [])):
        yield rule["Next"]


def reached(start, *, without=()):
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in without:
            found.add(name)
            waiting += targets(STATES[name])
    return found


def test_every_target_exists_and_every_state_can_be_reached():
    for machine in machines():
        names = {target for state in machine["States"].values() for target in targets(state)}
        assert names | {machine["StartAt"]} == set(machine["States"])


def test_no_two_states_have_one_name_those_within_maps_included():
    """AWS refuses the whole state machine otherwise; the emulator does not."""
    names = [name for name, _ in every_state()]
    assert len(names) == len(set(names))


def test_every_state_goes_on_or_ends():
    for name, state in every_state():
        ends = state["Type"] in ("Succeed", "Fail", "Choice") or state.get("End") is True
        assert ends != ("Next" in state), name


def test_every_task_has_a_time_limit_a_retry_and_a_catch_for_everything():
    for name, state in every_state():
        if state["Type"] == "Task":
            assert state["TimeoutSeconds"] > 0, name
            if name == "Conclude":  # whose failure is the execution's
                assert "Catch" not in state
            else:
                assert "States.ALL" in state["Retry"][-1]["ErrorEquals"], name
                assert state["Catch"][-1]["ErrorEquals"] == ["States.ALL"], name
            for retry in state["Retry"]:
                assert retry["JitterStrategy"] == "FULL"
                assert retry["MaxDelaySeconds"] >= retry["IntervalSeconds"]


def test_throttling_is_waited_out_longer_than_any_other_error():
    for name in ("Prepare", "Plan", "Finish"):
        throttled, other = STATES[name]["Retry"]
        assert "Lambda.TooManyRequestsException" in throttled["ErrorEquals"]
        assert throttled["MaxAttempts"] > other["MaxAttempts"]


@pytest.mark.parametrize(
    ("name", "function_timeout_s"),
    [
        ("Prepare", sizes.PREPARE.timeout_s),
        ("Forecast", sizes.PREDICT.timeout_s),
        ("Plan", sizes.PLAN.timeout_s),
        ("Finish", sizes.FINISH.timeout_s),
        ("Conclude", sizes.CONCLUDE.timeout_s),
    ],
)
def test_a_state_outwaits_the_time_limit_of_its_function(name, function_timeout_s):
    assert STATES[name]["TimeoutSeconds"] > function_timeout_s


def test_no_job_ends_without_finish_unless_it_never_began():
    assert {
        name
        for name in reached("Prepare", without=("Finish",))
        if STATES[name]["Type"] in ("Succeed", "Fail")
    } == {"Rejected", "Duplicate"}


def test_what_fails_ends_in_a_failed_execution():
    for name, state in STATES.items():
        for catch in state.get("Catch", []):
            if name not in ("Forecast",):
                ends = {one for one in reached(catch["Next"]) if STATES[one]["Type"] == "Fail"}
                assert ends | ({"Conclude"} & reached(catch["Next"])), name
    assert reached("FinishLost", without=("Prepared",)) == {
        "FinishLost", "WriteStatus", "FinishFailed", "Conclude",
    }  # fmt: skip


def test_a_job_and_its_rounds_have_a_time_limit():
    assert DEFINITION["TimeoutSeconds"] == SETTINGS.job_timeout_s
    for name in MAPS:
        worker = STATES[name]["ItemProcessor"]["States"][f"Run{name}Worker"]
        assert worker["TimeoutSeconds"] > SETTINGS.worker_timeout_s


def test_a_round_is_a_distributed_map_over_worker_numbers_that_carries_no_data():
    for name in MAPS:
        state = STATES[name]
        assert state["ItemProcessor"]["ProcessorConfig"] == {
            "Mode": "DISTRIBUTED",
            "ExecutionType": "STANDARD",
        }
        assert state["ItemsPath"] == "$.plan.workers"
        assert state["MaxConcurrency"] == SETTINGS.max_workers
        assert state["ToleratedFailurePercentage"] == 100
        assert state["ResultPath"] is None
        assert state["Label"] == name


def test_e07_e08_no_items_and_no_results_pass_through_the_service_whose_shapes_differ():
    for name in MAPS:
        assert not {"ItemBatcher", "ItemReader", "ResultWriter"} & set(STATES[name])


def test_the_definition_fits_and_names_only_what_is_filled_in():
    text = json.dumps(DEFINITION)
    assert len(text) < 100_000
    for name in job_definition.SUBSTITUTIONS:
        assert f"${{{name}}}" in text
        text = text.replace(f"${{{name}}}", "")
    assert "${" not in text
