"""The state machine with the real handlers behind it, under two interpreters that know nothing of each other.

Ours is in `tests.infra.asl_interpreter`, moto's in `tests.infra.moto_interpreter`, which says what it lacks. Storage is
the tests' S3, workers are real processes. For every kind of job, and for every way to end, both must enter the same
states and leave the same behind.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import layout, spec
from bellwren.options import Options
from bellwren.results import Results
from bellwren.store import Store
from bellwren.submission import make_document, parameters_payload
from infra.job_definition import job_definition
from infra.settings import Settings
from tests.engine.harness import Engine, EnvironmentLost
from tests.engine.sorts import folder
from tests.engine.superstep_programs import gossip
from tests.infra.asl_interpreter import Interpreter, StatesError
from tests.infra.moto_interpreter import MotoInterpreter

DEFINITION = job_definition(Settings(max_workers=2))
ours = partial(Interpreter, at_once=2)  # supersteps meet only if all of their workers run
WORKERS = {"workers": 2}


class Handlers:
    """The functions of a deployment, and the one other service that the state machine calls."""

    def __init__(self, engine: Engine, lost: int = 0) -> None:
        self._engine = engine
        self._lost = lost
        """How many invocations of workers are lost before one is not."""
        self.called: list[str] = []
        self.job_id = ""

    def invoke(self, name: str, payload: Any) -> Any:
        module = name.removeprefix("${").removesuffix("FunctionArn}").lower()
        self.called.append(module)
        if module in HANDLERS:
            return self._handled(module, payload)
        if self._lost:
            self._lost -= 1
            raise StatesError("Lambda.Unknown", "the environment was lost")
        with self._engine._environment() as environment:
            try:
                answer = environment.call(payload, memory_mb=1769, timeout_s=60.0)
            except EnvironmentLost as error:
                raise StatesError("Lambda.Unknown", "the environment was lost") from error
        if "error" in answer:
            raise StatesError("Exception", answer["error"])
        return answer["result"]

    def _handled(self, module: str, payload: Any) -> Any:
        payload = json.loads(json.dumps(payload, default=str))
        try:
            answer = import_module(f"functions.{module}").handler(payload, None)
        except Exception as error:
            raise StatesError(type(error).__name__, str(error)) from error
        if module == "prepare":
            self.job_id = answer["job_id"]
        return json.loads(json.dumps(answer))

    def put_object(self, parameters: Any) -> None:
        raise AssertionError(f"Finish works, so nobody writes in its place: {parameters}")


HANDLERS = ("prepare", "predict", "plan", "finish", "conclude")


@pytest.fixture
def handlers(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Handlers]:
    variables = {f"BELLWREN_{role.upper()}_BUCKET": bucket for role, bucket in engine.buckets.items()}
    variables |= {
        "BELLWREN_STAGE": "engine",
        "BELLWREN_MAX_WORKERS": "2",
        "BELLWREN_WORKER_MEMORY_MB": "[1769]",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    # They read their environment when they are imported, which an earlier test may have seen to.
    for name in HANDLERS:
        monkeypatch.setattr(import_module(f"functions.{name}"), "_DEPLOYMENT", engine.deployment())
    return lambda **options: Handlers(engine, **options)


def made(engine: Engine, kind: Any, functions: dict[str, Any], inputs: Any, **fields: Any) -> dict[str, Any]:
    cloud: Any = SimpleNamespace(jobs_store=engine.store)
    return make_document(kind, functions, inputs, Options.of(dict(WORKERS)), cloud, **fields)


def a_map(engine: Engine) -> dict[str, Any]:
    return made(engine, "map", {"map": lambda x: x * x}, range(30))


def a_map_that_fails(engine: Engine) -> dict[str, Any]:
    return made(engine, "map", {"map": lambda x: 1 // (x - 7)}, range(20))


def a_map_that_tolerates(engine: Engine) -> dict[str, Any]:
    return {**a_map_that_fails(engine), "tolerate": 0.1}


def a_map_reduce(engine: Engine) -> dict[str, Any]:
    uri = folder(engine, b"to be or not\n" * 50, b"to be\n" * 9)
    return {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": uri}, **WORKERS}


def a_sort(engine: Engine) -> dict[str, Any]:
    return made(engine, "sort", {"key": None}, [3, 1, 2, 9, 5])


def supersteps(engine: Engine) -> dict[str, Any]:
    return made(engine, "bsp", {"step": gossip}, [[] for _ in range(3)], max_supersteps=3)


def a_parameter_server(engine: Engine) -> dict[str, Any]:
    def train(worker: Any) -> None:
        worker.parameters.push({"n": 1.0})

    parameters = parameters_payload({"n": 0.0}, engine.store)
    return made(engine, "parameter_server", {"train": train}, [None] * 3, parameters_payload=parameters)


def chosen_by_forecast(engine: Engine) -> dict[str, Any]:
    return {**a_map_reduce(engine), "workers": "auto"}


def a_wrong_document(engine: Engine) -> dict[str, Any]:
    return {"bellwren": 1, "algorithm": "wordcount", "workers": -1}


JOBS = (
    *(a_map, a_map_that_fails, a_map_that_tolerates, a_map_reduce, a_sort, supersteps, a_parameter_server),
    *(chosen_by_forecast, a_wrong_document),
)


def told(interpreter: Any, handlers: Handlers, engine: Engine, started: Any, name: str) -> dict[str, Any]:
    """How an execution went, in the terms that do not change from one to the next."""
    execution = interpreter(DEFINITION, handlers.invoke, handlers.put_object).run(started, name)
    job_id = handlers.job_id
    status = engine.store.get_json(layout.status(job_id))
    results = None
    if status["status"] == "SUCCEEDED":
        results = repr(
            Results(engine.store, Store, job_id, engine.store.get_json(layout.plan(job_id))).collect()
        )
    return {
        "execution": (execution.status, execution.error),
        "entered": execution.entered,
        "called": sorted(handlers.called),
        "status": status["status"],
        "failures": [(one.get("index"), one.get("type")) for one in status["failures"] if "index" in one],
        "error": (status["error"] or {}).get("type"),
        "results": results,
        "kind": status["kind"],
    }


def name() -> str:
    return f"job-{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize("document", JOBS, ids=lambda document: document.__name__)
def test_both_interpreters_end_the_job_alike(
    document: Any, engine: Engine, handlers: Callable[..., Handlers], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)  # moto writes pages
    here = told(ours, handlers(), engine, {"spec": _settled(document(engine))}, name())
    there = told(MotoInterpreter, handlers(), engine, {"spec": _settled(document(engine))}, name())
    assert there == here
    assert here["entered"][-1] in ("Succeeded", "Conclude", "Rejected")


def _settled(document: dict[str, Any]) -> dict[str, Any]:
    """As the client sends it, where the client would send it at all."""
    return document if document.get("workers") == -1 else spec.from_dict(document).to_dict()


def test_both_retry_a_worker_that_is_lost(
    engine: Engine, handlers: Callable[..., Handlers], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    ends = [
        told(interpreter, handlers(lost=3), engine, {"spec": _settled(a_map(engine))}, name())
        for interpreter in (ours, MotoInterpreter)
    ]
    assert ends[0]["called"].count("arn:worker") == 5
    assert ends[0] == ends[1]


def test_both_end_the_second_delivery_of_a_document_as_a_duplicate(
    engine: Engine, handlers: Callable[..., Handlers], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    ends = []
    for interpreter in (ours, MotoInterpreter):
        key = f"{layout.SPECS}{uuid.uuid4().hex}.json"
        engine.store.put_json(key, a_map_reduce(engine))
        event = {
            "detail-type": "Object Created",
            "detail": {
                "bucket": {"name": engine.buckets["jobs"]},
                "object": {"key": key, "sequencer": "0055AED6DCD90281E5"},
            },
        }
        ends.append([told(interpreter, handlers(), engine, event, name()) for _ in range(2)])
    assert ends[0] == ends[1]
    assert ends[0][1]["entered"] == ["Prepare", "Prepared", "Duplicate"]
    assert ends[0][1]["status"] == "SUCCEEDED", "what the first left is untouched"
