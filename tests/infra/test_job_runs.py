"""The state machine as it runs with scripted functions, to its end and redriven."""

from __future__ import annotations

import json

import pytest
from asl_interpreter import Interpreter, StatesError, Stopped
from test_job_definition import DEFINITION, STATES

from bellwren import layout
from infra.job_definition import CONCLUDE, FINISH, JOBS_BUCKET, PLAN, PREDICT, PREPARE


class Functions:
    """The functions of a deployment, each with a script: what its calls answer, the last answer for ever."""

    def __init__(self, **scripts):
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.calls = []
        self.objects = {}

    def invoke(self, name, payload):
        name = name.removeprefix("${").removesuffix("}")
        self.calls.append((name, payload))
        script = self.scripts[name]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer(payload) if callable(answer) else answer

    def put_object(self, parameters):
        if "put_object" in self.scripts:
            raise self.scripts["put_object"][0]
        self.objects[parameters["Bucket"], parameters["Key"]] = parameters["Body"]

    def payloads(self, name):
        return [payload for called, payload in self.calls if called == name]


RUN = {"job_id": "j1", "action": "RUN", "kind": "map_reduce", "algorithm": "wordcount"}
FORECAST = {"choice": {"workers": 3, "memory_mb": 1769}, "forecasts": [{}] * 50}
WORKER = "arn:aws:lambda:::function:worker"


def step(next_, stage="", round_=0, workers=0):
    return {
        "next": next_,
        "stage": stage,
        "round": round_,
        "workers": list(range(workers)),
        "worker_function": WORKER if workers else "",
    }


GOOD = {
    PREPARE: [RUN],
    PREDICT: [FORECAST],
    PLAN: [
        step("MAP", "map", 0, 3),
        step("MAP", "map", 1, 2),
        step("REDUCE", "reduce", 0, 2),
        step("FINISH"),
    ],
    WORKER: [{}],
    FINISH: [{"status": "SUCCEEDED"}],
    CONCLUDE: [
        StatesError(
            "Bellwren.JobFailed", '{"errorType":"Bellwren.JobFailed","errorMessage":"Job j1 did not succeed"}'
        )
    ],
}
LOST = StatesError("Lambda.Unknown", "the function went away")
THROTTLED = StatesError("Lambda.TooManyRequestsException", "Rate exceeded")


def run(input_=None, **scripts):
    functions = Functions(**{**GOOD, **scripts})
    interpreter = Interpreter(DEFINITION, functions.invoke, functions.put_object)
    return interpreter.run({"spec": {}} if input_ is None else input_, "books"), functions


def test_a_job_runs_round_by_round_until_plan_says_finish():
    execution, functions = run()
    assert execution.status == "SUCCEEDED"
    assert execution.output == RUN
    assert [name for name in execution.entered if name in STATES and STATES[name]["Type"] != "Choice"] == [
        "Prepare", "Forecast", "Plan", "Map", "Plan", "Map", "Plan", "Reduce", "Plan", "Finish", "Succeeded",
    ]  # fmt: skip
    assert functions.payloads(WORKER) == [
        {"job_id": "j1", "stage": stage, "round": round_, "worker": worker}
        for stage, round_, workers in (("map", 0, 3), ("map", 1, 2), ("reduce", 0, 2))
        for worker in range(workers)
    ]


def test_prepare_is_told_what_the_execution_was_started_with():
    event = {"detail-type": "Object Created", "detail": {"object": {"key": "specs/a b.json"}}}
    _, functions = run(event)
    (payload,) = functions.payloads(PREPARE)
    assert payload["execution"]["Input"] == event
    assert payload["execution"]["Name"] == "books"
    assert payload["execution"]["Id"].endswith(":execution:jobs:books")


def test_plan_is_told_its_last_answer_so_that_a_retry_of_it_can_be_told_from_a_new_round():
    _, functions = run()
    answers = [payload["plan"] for payload in functions.payloads(PLAN)]
    assert answers == [None, *GOOD[PLAN][:3]]
    assert {payload["job"]["job_id"] for payload in functions.payloads(PLAN)} == {"j1"}


def test_finish_is_told_the_job_and_that_nothing_failed():
    _, functions = run({"spec": {"name": "x"}})
    (payload,) = functions.payloads(FINISH)
    assert payload["job_id"] == "j1"
    assert payload["error"] is None
    assert payload["input"] == {"spec": {"name": "x"}}


def test_a_job_without_a_forecast_runs_all_the_same():
    execution, _ = run(**{PREDICT: [LOST]})
    assert execution.status == "SUCCEEDED"


def test_a_wrong_document_ends_in_a_failed_execution_that_says_where_the_faults_are():
    execution, functions = run(**{PREPARE: [{**RUN, "action": "REJECTED", "kind": None}]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.Rejected")
    assert layout.status("j1") in execution.cause
    assert not functions.payloads(FINISH)


def test_a_second_start_of_a_job_ends_well_and_does_nothing():
    execution, functions = run(**{PREPARE: [{**RUN, "action": "DUPLICATE", "kind": None}]})
    assert execution.status == "SUCCEEDED"
    assert [name for name, _ in functions.calls] == [PREPARE]


def test_a_job_whose_input_is_a_running_job_asks_again_and_then_runs():
    waits = [{**RUN, "action": "WAIT", "wait_s": seconds} for seconds in (1, 2, 5)]
    execution, functions = run({"spec": {"input": {"job": "j0"}}}, **{PREPARE: [*waits, RUN]})
    assert execution.status == "SUCCEEDED"
    assert [name for name in execution.entered if name in ("Prepare", "WaitForInput")] == [
        *["Prepare", "WaitForInput"] * 3,
        "Prepare",
    ]
    first, *others = functions.payloads(PREPARE)
    assert others == [first] * 3


def test_a_job_whose_input_failed_goes_to_finish_which_says_so():
    failed = {**RUN, "action": "FAIL"}
    execution, functions = run(**{PREPARE: [failed], FINISH: [{"status": "FAILED"}]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.JobFailed")
    assert [name for name, _ in functions.calls] == [PREPARE, FINISH, CONCLUDE]


@pytest.mark.parametrize("input_", [{"spec": {}}, [1, 2], "a text", 7, None])
def test_a_prepare_that_cannot_run_ends_in_finish_with_its_error_whatever_the_input(input_):
    functions = Functions(**{**GOOD, PREPARE: [LOST], FINISH: [{"status": "FAILED"}]})
    execution = Interpreter(DEFINITION, functions.invoke, functions.put_object).run(input_)
    assert (execution.status, execution.error, execution.cause) == ("FAILED", LOST.error, LOST.cause)
    (payload,) = functions.payloads(FINISH)
    assert payload["job_id"] is None
    assert payload["input"] == input_
    assert payload["error"] == {"Error": LOST.error, "Cause": LOST.cause}


def test_a_plan_that_cannot_run_ends_in_finish_with_its_error():
    execution, functions = run(**{PLAN: [GOOD[PLAN][0], LOST], FINISH: [{"status": "FAILED"}]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.JobFailed")
    (payload,) = functions.payloads(FINISH)
    assert payload["error"]["Error"] == LOST.error
    (payload,) = functions.payloads(CONCLUDE)
    assert payload["job_id"] == "j1"


def test_a_job_that_finish_calls_failed_or_cancelled_is_a_failed_execution():
    for status in ("FAILED", "CANCELLED"):
        execution, _ = run(**{FINISH: [{"status": status}]})
        assert (execution.status, execution.error) == ("FAILED", "Bellwren.JobFailed")


def test_lost_workers_are_retried_and_then_left_to_plan():
    execution, functions = run(**{WORKER: [LOST]})
    assert execution.status == "SUCCEEDED"
    first = [payload for payload in functions.payloads(WORKER) if payload["round"] == 0][:4]
    assert first == [functions.payloads(WORKER)[0]] * 4  # one try and three retries


def test_a_throttled_worker_is_asked_again_until_there_is_room():
    execution, functions = run(**{WORKER: [*[THROTTLED] * 12, {}]})
    assert execution.status == "SUCCEEDED"
    assert len(functions.payloads(WORKER)) == 12 + 7


def test_an_answer_from_another_version_ends_the_job_and_not_the_sanity():
    for script in ({PREPARE: [{**RUN, "action": "DANCE"}]}, {PLAN: [step("DANCE")]}):
        execution, functions = run(**script, **{FINISH: [{"status": "FAILED"}]})
        assert execution.status == "FAILED"
        assert functions.payloads(FINISH)[0]["error"]["Error"] == "Bellwren.UnexpectedAnswer"


def test_when_finish_fails_the_state_machine_writes_the_status_itself():
    execution, functions = run(**{FINISH: [LOST]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.JobFailed")
    status = functions.objects[f"${{{JOBS_BUCKET}}}", layout.status("j1")]
    assert status["job_id"] == "j1"
    assert status["status"] == "FAILED"
    assert status["kind"] == "map_reduce"
    assert status["algorithm"] == "wordcount"
    assert status["failures"] == []
    assert status["error"] == {"type": LOST.error, "message": LOST.cause}
    assert status["finished_at"]


def test_when_nothing_can_be_written_the_execution_still_fails():
    execution, _ = run(**{FINISH: [LOST], "put_object": [LOST]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.FinishFailed")


def test_when_prepare_and_finish_fail_no_status_is_made_up_for_a_job_without_an_id():
    execution, functions = run(**{PREPARE: [LOST], FINISH: [LOST]})
    assert (execution.status, execution.error) == ("FAILED", "Bellwren.FinishFailed")
    assert functions.objects == {}


def test_neither_the_input_nor_the_workers_results_stay_in_the_state():
    big = {"spec": {"items": ["x" * 1000] * 200}}
    _, functions = run(big, **{WORKER: [{"more": "than promised" * 1000}]})
    for payload in functions.payloads(PLAN):
        assert len(json.dumps(payload)) < 1000


def test_ten_thousand_workers_fit_into_the_state_and_cost_the_execution_no_more_steps_than_one():
    steps = {}
    for workers in (1, 10_000):
        execution, _ = run(**{PLAN: [step("MAP", "map", 0, workers), step("FINISH")]})
        assert execution.status == "SUCCEEDED"
        steps[workers] = len(execution.entered)
        assert execution.largest_state_bytes < 100_000
    assert steps[1] == steps[10_000]


def test_a_thousand_rounds_stay_far_below_the_length_of_history_that_an_execution_may_have():
    rounds = [step("MAP", "map", number, 2) for number in range(1000)]
    execution, _ = run(**{PLAN: [*rounds, step("FINISH")]})
    # At most six events for a state: entered, scheduled, started, submitted, succeeded, exited.
    assert len(execution.entered) * 6 < 25_000


# --- redriven ---


def going_on(payload):
    """Conclude, as it is: it fails until the execution is redriven."""
    if payload["execution"]["RedriveCount"] == 0:
        raise GOOD[CONCLUDE][0]
    return RUN


def redriven(**scripts):
    """A job that ends badly, and its redrive."""
    functions = Functions(**{**GOOD, **scripts})
    interpreter = Interpreter(DEFINITION, functions.invoke, functions.put_object)
    first = interpreter.run({"spec": {}}, "books")
    assert first.status in ("FAILED", "ABORTED")
    return first, interpreter.redrive(first), functions


def test_a_failed_job_is_gone_on_with_when_its_execution_is_redriven():
    first, second, functions = redriven(
        **{
            PLAN: [step("FINISH"), step("MAP", "map", 1, 2), step("FINISH")],
            FINISH: [{"status": "FAILED"}, {"status": "SUCCEEDED"}],
            CONCLUDE: [going_on],
        }
    )
    assert first.entered[-1] == second.entered[0] == "Conclude"
    assert (second.status, second.output) == ("SUCCEEDED", RUN)
    assert second.entered[1:] == [
        "Prepared", "Forecast", "Plan", "Planned", "Map", "Plan", "Planned", "Finish", "Finished", "Succeeded",
    ]  # fmt: skip
    # Plan is not behind a round of the first run, and no error of it is told to Finish.
    assert [payload["plan"] for payload in functions.payloads(PLAN)][1] is None
    assert functions.payloads(FINISH)[1]["error"] is None


def test_a_job_whose_finish_was_lost_is_gone_on_with_too():
    _, second, _ = redriven(
        **{FINISH: [LOST, LOST, LOST, LOST, {"status": "SUCCEEDED"}], CONCLUDE: [going_on]}
    )
    assert second.status == "SUCCEEDED"


def test_an_execution_that_is_stopped_in_a_round_ends_its_job_when_it_is_redriven_and_goes_on_then():
    """Its status is final by then: workers do nothing, Plan says Finish, Finish tells the status, and so on."""
    first, second, functions = redriven(
        **{
            PLAN: [step("MAP", "map", 0, 2), step("FINISH"), step("MAP", "map", 1, 2), step("FINISH")],
            WORKER: [Stopped(), {}],
            FINISH: [{"status": "CANCELLED"}, {"status": "SUCCEEDED"}],
            CONCLUDE: [going_on],
        }
    )
    assert (first.status, first.entered[-1]) == ("ABORTED", "Map")
    assert second.status == "SUCCEEDED"
    assert len(functions.payloads(CONCLUDE)) == 1


def test_a_wrong_document_is_as_wrong_when_its_execution_is_redriven():
    first, second, functions = redriven(**{PREPARE: [{**RUN, "action": "REJECTED", "kind": None}]})
    assert (second.error, second.entered) == (first.error, ["Rejected"])
    assert not functions.payloads(CONCLUDE)
