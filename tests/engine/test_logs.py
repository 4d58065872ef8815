"""What the functions write into their logs over a whole job: lines of JSON, each with the job's id."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bellwren import layout
from tests.engine.harness import Engine
from tests.engine.proxy import Fault, Proxy
from tests.engine.test_state_machine import DEFINITION, WORKERS, Handlers, handlers, made, ours

__all__ = ["handlers"]  # a fixture
CONTROL = {"prepare", "predict", "plan", "finish"}


def run(document: dict[str, Any], handlers: Handlers) -> Any:
    return ours(DEFINITION, handlers.invoke, handlers.put_object).run({"spec": document}, uuid.uuid4().hex)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def heard(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[], list[dict[str, Any]]]:
    """What was written to standard error, also by the workers' processes, as lines of a log."""
    monkeypatch.setenv("ENGINE_TEST_LOG", "1")
    monkeypatch.setattr(
        engine, "_free", []
    )  # the warm ones write where an earlier test's standard error went
    capfd.readouterr()
    return lambda: lines_of(capfd.readouterr().err)


def noisy(x: int) -> int:
    print("of the user", x)
    os.write(2, b"raw\n")
    if x == 3:
        print("x" * 100_000, file=sys.stderr)
        os._exit(7)
    return 1 // (x - 5)


def test_every_line_of_a_job_is_json_with_its_id_and_says_which_function_wrote_it(
    engine: Engine, handlers: Callable[..., Handlers], heard: Callable[[], list[dict[str, Any]]]
) -> None:
    machine = handlers()
    assert run(made(engine, "map", {"map": noisy}, range(8)), machine).status == "FAILED"
    lines = heard()
    assert {line["job_id"] for line in lines} == {machine.job_id}
    metrics = [line for line in lines if "_aws" in line]
    assert [line["JobsFailed"] for line in metrics] == [1]
    by_function = Counter(line["function"] for line in lines if "_aws" not in line)
    assert by_function.keys() == {*CONTROL, "worker", "conclude"}
    assert by_function["worker"] == sum(name not in (*CONTROL, "conclude") for name in machine.called)
    assert all(line["seconds"] >= 0 for line in lines if "function" in line)
    said = {line["function"]: line for line in lines if "function" in line}
    assert "error" in said["conclude"], "it fails the execution"
    assert said["finish"]["status"] == "FAILED"


def test_a_worker_that_is_lost_says_why_with_the_jobs_id(
    engine: Engine, proxy: Proxy, handlers: Callable[..., Handlers], heard: Callable[[], list[dict[str, Any]]]
) -> None:
    machine = handlers()
    refused = Fault("refuse", path=layout.plan("").rpartition("/")[2], method="GET", status=403)
    with proxy.disturbed_by(refused):
        run({**made(engine, "map", {"map": abs}, range(4)), **WORKERS}, machine)
    lines = heard()
    assert refused.hits == 1
    assert {line["job_id"] for line in lines} == {machine.job_id}
    (trace,) = [line for line in lines if "trace" in line]
    assert (trace["function"], trace["stage"], trace["round"]) == ("worker", "map", 0)
    assert "Traceback" in trace["trace"]
    assert [line["function"] for line in lines if "error" in line] == ["worker"]
