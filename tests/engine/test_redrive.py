"""An unsuccessful execution is redriven, as Step Functions does it, and runs only what is missing.

The state machine's own definition, the real functions and workers; the emulator knows no redrive.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bellwren import layout
from bellwren.control.conclude import Unsuccessful, conclude
from bellwren.control.finish import finish
from bellwren.control.plan import plan
from bellwren.control.prepare import prepare
from infra import job_definition
from infra.settings import Settings
from tests.engine.harness import Engine
from tests.infra.asl_interpreter import Execution, Interpreter, StatesError, Stopped

DEFINITION = job_definition.job_definition(Settings())


class Machine:
    """The state machine with the functions of a deployment behind it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.deployment = engine.deployment()
        self.interpreter = Interpreter(DEFINITION, self.invoke, lambda parameters: None)
        self.stop_in_round = -1
        """The round in which the execution is stopped, behind its workers."""
        self.job_id = f"job-{uuid.uuid4().hex[:12]}"

    def invoke(self, name: str, payload: Any) -> Any:
        payload = json.loads(json.dumps(payload))
        match name.removeprefix("${").removesuffix("}"):
            case job_definition.PREPARE:
                one = payload["execution"]
                told = (one["Input"], one["Id"], one["Name"], self.deployment)
                return prepare(*told, redrives=one["RedriveCount"])
            case job_definition.PLAN:
                return plan(payload, self.deployment)
            case job_definition.FINISH:
                return finish(payload, self.deployment)
            case job_definition.CONCLUDE:
                one = payload["execution"]
                try:
                    return conclude(payload["job_id"], one["Id"], one["RedriveCount"], self.deployment)
                except Unsuccessful as error:
                    raise StatesError(type(error).__name__, str(error)) from error
            case job_definition.PREDICT:
                raise StatesError("there is no model")
        if payload["round"] == self.stop_in_round:
            self.stop_in_round = -1
            raise Stopped
        with self.engine._environment() as environment:
            return environment.call(payload, memory_mb=1769, timeout_s=60.0)["result"]

    def run(self, function: Any, items: Any, **options: Any) -> Execution:
        document, _ = self.engine._document("map", {"map": function}, items, {"workers": 1, **options})
        return self.interpreter.run({"spec": document}, self.job_id)

    def redrive(self, ended: Execution) -> Execution:
        return self.interpreter.redrive(ended)

    def status(self) -> dict[str, Any]:
        return self.engine.store.get_json(layout.status(self.job_id))

    def event(self, execution: Execution, status: str, redrives: int) -> dict[str, Any]:
        """What EventBridge tells Finish of an execution's end."""
        detail = {
            "name": self.job_id,
            "executionArn": execution.context["Execution"]["Id"],
            "status": status,
            "input": json.dumps(execution.context["Execution"]["Input"]),
            "redriveCount": redrives,
        }
        return finish(
            {"detail-type": "Step Functions Execution Status Change", "detail": detail}, self.deployment
        )


@pytest.fixture
def machine(engine: Engine) -> Machine:
    return Machine(engine)


def results(machine: Machine) -> list[Any]:
    from bellwren.results import Results
    from bellwren.store import Store

    store = machine.engine.store
    return Results(store, Store, machine.job_id, store.get_json(layout.plan(machine.job_id))).collect()


def test_only_the_failed_items_run_again_and_as_often_as_the_execution_is_redriven(
    machine: Machine, tmp_path: Path
) -> None:
    def item(x: int) -> int:
        with open(tmp_path / "ran", "a") as file:
            file.write(f"{x}\n")
        if x in (2, 7) and not os.path.exists(tmp_path / "mended"):
            raise ValueError("not yet")
        return x * 2

    def ran() -> Counter[str]:
        found = Counter((tmp_path / "ran").read_text().split())
        (tmp_path / "ran").unlink()
        return found

    first = machine.run(item, range(20))
    assert (first.status, first.error) == ("FAILED", "Bellwren.JobFailed")
    assert layout.status(machine.job_id) in first.cause
    assert sum(ran().values()) == 20
    second = machine.redrive(first)
    assert (second.status, second.entered[-1]) == ("FAILED", "Conclude")
    assert ran() == Counter(["2", "7"])
    assert machine.status()["status"] == "FAILED"
    (tmp_path / "mended").touch()
    third = machine.redrive(second)
    assert third.status == "SUCCEEDED"
    assert ran() == Counter(["2", "7"])
    assert machine.status()["status"] == "SUCCEEDED"
    assert results(machine) == [x * 2 for x in range(20)]


def test_an_execution_that_was_stopped_goes_on_and_late_news_of_its_end_change_nothing(
    machine: Machine,
) -> None:
    machine.stop_in_round = 0
    first = machine.run(lambda x: -x, range(12))
    assert (first.status, first.entered[-1]) == ("ABORTED", "Map")
    assert machine.event(first, "ABORTED", 0) == {"status": "CANCELLED"}
    # Stopped again behind the redrive, in the round in which the job goes on.
    machine.stop_in_round = 1
    second = machine.redrive(first)
    assert (second.status, second.entered[-1]) == ("ABORTED", "Map")
    assert machine.event(first, "ABORTED", 0) == {"status": "RUNNING"}
    assert machine.event(second, "ABORTED", 1) == {"status": "CANCELLED"}
    third = machine.redrive(second)
    assert third.status == "SUCCEEDED"
    assert results(machine) == [-x for x in range(12)]


def test_an_execution_that_was_stopped_before_its_job_was_prepared_begins_it(machine: Machine) -> None:
    document, _ = machine.engine._document("map", {"map": abs}, [-1], {"workers": 1})
    start, where = {"spec": document}, ("arn:one", machine.job_id, machine.deployment)
    machine.engine.store.put_json(layout.claim(machine.job_id), {"execution": "arn:one", "at": "now"})
    stopped = {"name": machine.job_id, "executionArn": "arn:one", "status": "TIMED_OUT", "redriveCount": 0}
    event = {"detail-type": "ended", "detail": {**stopped, "input": json.dumps(start)}}
    assert finish(event, machine.deployment) == {"status": "FAILED"}
    assert prepare(start, *where)["action"] == "DUPLICATE"
    assert prepare(start, *where, redrives=1)["action"] == "RUN"
    assert machine.status()["status"] == "QUEUED"


def test_a_job_that_another_execution_brought_to_its_end_is_left_as_it_is(
    machine: Machine, tmp_path: Path
) -> None:
    def item(x: int) -> int:
        if not os.path.exists(tmp_path / "mended"):
            raise ValueError("not yet")
        return x

    first = machine.run(item, range(2))
    (tmp_path / "mended").touch()
    again = machine.engine.execute({"resume": machine.job_id}, f"{machine.job_id}-resumed")
    assert again.result() == [0, 1]
    second = machine.redrive(first)
    assert (second.status, second.entered[-1]) == ("SUCCEEDED", "Duplicate")
