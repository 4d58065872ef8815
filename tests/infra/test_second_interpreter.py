"""Two interpreters, one meaning: whatever happens to a job, both enter the same states, call the same functions with
the same payloads, and end the same way.
"""

from __future__ import annotations

import json
import logging
import re

import pytest
from asl_interpreter import Interpreter, StatesError
from moto_interpreter import MotoInterpreter
from test_job_runs import (
    FINISH,
    GOOD,
    LOST,
    PLAN,
    PREDICT,
    PREPARE,
    RUN,
    THROTTLED,
    WORKER,
    Functions,
    step,
)

from infra.job_definition import job_definition
from infra.settings import Settings

DEFINITION = job_definition(Settings(max_workers=2))
FAILED = {FINISH: [{"status": "FAILED"}]}
BUG = StatesError("KeyError", '{"errorType":"KeyError","errorMessage":"a bug"}')
MAP = [step("MAP", "map", 0, 3), step("FINISH")]
ONE = [step("MAP", "map", 0, 1), step("FINISH")]

SCENARIOS = {
    # Every kind of job.
    "map": {PLAN: MAP},
    "map_reduce in two rounds": {},
    "sort": {PLAN: [step("MAP", "runs", 0, 2), step("REDUCE", "merge", 0, 2), step("FINISH")]},
    "bsp": {PLAN: [step("BSP", "supersteps", 0, 2), step("BSP", "supersteps", 1, 2), step("FINISH")]},
    "parameter server": {PLAN: [step("BSP", "training", 0, 2), step("FINISH")]},
    "resumed, and nothing was left to do": {PLAN: [step("FINISH")]},
    # Every answer of Prepare.
    "rejected": {PREPARE: [{**RUN, "action": "REJECTED", "kind": None}]},
    "duplicate": {PREPARE: [{**RUN, "action": "DUPLICATE", "kind": None}]},
    "its input is a job that runs": {
        PREPARE: [{**RUN, "action": "WAIT", "wait_s": 7}] * 2 + [RUN],
        PLAN: MAP,
    },
    "its input is a job that failed": {PREPARE: [{**RUN, "action": "FAIL"}], **FAILED},
    "an answer of Prepare that is not known": {PREPARE: [{**RUN, "action": "DANCE"}], **FAILED},
    # Every state that can fail, by the service and by a bug, for a while and for good.
    "Prepare fails": {PREPARE: [LOST], **FAILED},
    "Prepare has a bug": {PREPARE: [BUG], **FAILED},
    "Prepare fails once": {PREPARE: [LOST, RUN], PLAN: MAP},
    "no forecast": {PREDICT: [LOST], PLAN: MAP},
    "a forecast of another form": {PREDICT: [{"no": "choice"}], PLAN: MAP},
    "Plan fails": {PLAN: [MAP[0], LOST], **FAILED},
    "Plan is throttled": {PLAN: [*[THROTTLED] * 12, *MAP]},
    "Plan is throttled for good": {PLAN: [THROTTLED], **FAILED},
    "an answer of Plan that is not known": {PLAN: [step("DANCE")], **FAILED},
    # One: moto starts no further child after one that failed for good, AWS does, by ToleratedFailurePercentage.
    "all workers are lost": {WORKER: [LOST], PLAN: ONE},
    "a worker is lost once": {WORKER: [LOST, {}], PLAN: ONE},
    "a worker has a bug": {WORKER: [BUG], PLAN: ONE, **FAILED},
    "the job failed": {PLAN: MAP, **FAILED},
    "the job was cancelled": {PLAN: MAP, FINISH: [{"status": "CANCELLED"}]},
    "Finish fails": {PLAN: MAP, FINISH: [LOST]},
    "Finish fails once": {PLAN: MAP, FINISH: [BUG, {"status": "SUCCEEDED"}]},
    "Finish fails and nothing can be written": {PLAN: MAP, FINISH: [LOST], "put_object": [LOST]},
    "Prepare and Finish fail": {PREPARE: [LOST], FINISH: [LOST]},
}


def told(interpreter, scripts):
    """Everything that an execution leaves behind."""
    functions = Functions(**{**GOOD, **scripts})
    execution = interpreter(DEFINITION, functions.invoke, functions.put_object).run(
        {"spec": {"name": "x"}}, "books"
    )
    return {
        "status": execution.status,
        "output": execution.output,
        "error": execution.error,
        "cause": execution.cause,
        "entered": execution.entered,
        # The workers of a round run at once, so their order says nothing.
        "calls": sorted(
            json.dumps([name, plain(payload)], sort_keys=True) for name, payload in functions.calls
        ),
        "objects": {key: plain(body) for key, body in functions.objects.items()},
    }


def plain(value):
    """Without the ARN, the times and the service's own words, which each service makes up."""
    text = json.dumps(value)
    for name in ("execution", "started_at", "finished_at"):
        text = re.sub(rf'("{name}": )"[^"]*"', r'\1"-"', text)
    return json.loads(re.sub(r" \(Service: [^)]*\)", "", text), object_hook=as_started)


def as_started(document):
    """Of a whole execution what it was started with; the rest each service makes up, or does not know."""
    if isinstance(execution := document.get("execution"), dict):
        document["execution"] = {name: execution[name] for name in ("Input", "Name")}
    return document


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_interpreters_tell_the_same(name, caplog):
    caplog.set_level(logging.CRITICAL)  # moto writes pages
    assert told(MotoInterpreter, SCENARIOS[name]) == told(Interpreter, SCENARIOS[name])


def test_the_scenarios_enter_every_state():
    entered = {state for scripts in SCENARIOS.values() for state in told(Interpreter, scripts)["entered"]}
    assert entered == set(DEFINITION["States"])
