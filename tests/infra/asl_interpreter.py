"""Runs a state machine the way the Amazon States Language defines it, as far as ours uses it, with scripted functions.

Strict where AWS is: a path that leads nowhere ends the execution with ``States.Runtime``, which no catch catches.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

Json = Any


class StatesError(Exception):
    """An error that a state may retry or catch."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


class Stopped(BaseException):
    """The execution is stopped while this is raised, or its time is up; no state catches that."""


class Uncaught(Exception):
    """``States.Runtime``: a fault of the definition itself."""


@dataclass
class Execution:
    """How one execution went."""

    status: str
    output: Json = None
    error: str = ""
    cause: str = ""
    entered: list[str] = field(default_factory=list)
    """States of the execution itself, in order; not those of the children of its maps."""
    largest_state_bytes: int = 0
    context: Json = None
    at: Json = None
    """The state's input where it is, or where it ended."""


@dataclass
class Interpreter:
    """One state machine; ``invoke`` and ``put_object`` stand for the services that it calls."""

    definition: dict[str, Json]
    invoke: Callable[[str, Json], Json]
    put_object: Callable[[Json], None]
    at_once: int = 1
    """Children of a map that run at the same time; one after the other, they run in the order of the items."""

    def run(self, input_: Json, name: str = "an-execution") -> Execution:
        context = {
            "Execution": {
                "Id": f"arn:aws:states:eu-west-1:123456789012:execution:jobs:{name}",
                "Name": name,
                "Input": input_,
                "StartTime": "2026-01-01T00:00:00Z",
                "RedriveCount": 0,
            }
        }
        execution = Execution("RUNNING", context=context)
        return self._go_on(execution, self.definition["StartAt"], input_)

    def redrive(self, ended: Execution) -> Execution:
        """What RedriveExecution does: the state that was not left runs again, with the same input."""
        assert ended.status != "SUCCEEDED"
        context = copy.deepcopy(ended.context)
        context["Execution"]["RedriveCount"] += 1
        return self._go_on(Execution("RUNNING", context=context), ended.entered[-1], ended.at)

    def _go_on(self, execution: Execution, name: str, state: Json) -> Execution:
        try:
            execution.output = self._machine(self.definition, state, execution.context, execution, name)
            execution.status = "SUCCEEDED"
        except StatesError as error:
            execution.status, execution.error, execution.cause = "FAILED", error.error, error.cause
        except Stopped:
            execution.status = "ABORTED"
        return execution

    def _machine(
        self, machine: Json, state: Json, context: Json, execution: Execution | None, name: str = ""
    ) -> Json:
        name = name or machine["StartAt"]
        while True:
            if execution is not None:
                execution.entered.append(name)
                execution.at = state
                execution.largest_state_bytes = max(execution.largest_state_bytes, len(str(state)))
            definition = machine["States"][name]
            context = {**context, "State": {"Name": name, "EnteredTime": "2026-01-01T00:00:01Z"}}
            state, following = getattr(self, f"_{definition['Type'].lower()}")(definition, state, context)
            if following is None:
                return state
            name = following

    def _pass(self, definition: Json, state: Json, context: Json) -> tuple[Json, str | None]:
        result = definition.get("Result", filled_in(definition.get("Parameters", state), state, context))
        return with_result(definition, state, result, context), definition.get("Next")

    def _succeed(self, definition: Json, state: Json, context: Json) -> tuple[Json, None]:
        return at(definition.get("OutputPath", "$"), state, context), None

    def _fail(self, definition: Json, state: Json, context: Json) -> tuple[Json, None]:
        error, cause = (
            evaluated(definition[f"{key}Path"], state, context)
            if f"{key}Path" in definition
            else definition[key]
            for key in ("Error", "Cause")
        )
        if not (isinstance(error, str) and isinstance(cause, str)):
            raise Uncaught("Error and Cause of a Fail state must be text")
        raise StatesError(error, cause)

    def _wait(self, definition: Json, state: Json, context: Json) -> tuple[Json, str]:
        seconds = at(definition["SecondsPath"], state, context)
        if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0:
            raise Uncaught(f"SecondsPath leads to {seconds!r}, which is no whole number of seconds")
        return state, definition["Next"]

    def _choice(self, definition: Json, state: Json, context: Json) -> tuple[Json, str]:
        for rule in definition["Choices"]:
            found = at(rule["Variable"], state, context)
            if ("IsString" in rule and isinstance(found, str) is rule["IsString"]) or (
                "StringEquals" in rule and found == rule["StringEquals"]
            ):
                return state, rule["Next"]
        return state, definition["Default"]

    def _task(self, definition: Json, state: Json, context: Json) -> tuple[Json, str | None]:
        def call() -> Json:
            parameters = filled_in(definition["Parameters"], state, context)
            if definition["Resource"].endswith("lambda:invoke"):
                return {
                    "StatusCode": 200,
                    "Payload": self.invoke(parameters["FunctionName"], parameters["Payload"]),
                }
            self.put_object(parameters)
            return {"ETag": "an-etag"}

        return self._attempted(definition, state, context, call)

    def _map(self, definition: Json, state: Json, context: Json) -> tuple[Json, str | None]:
        def call() -> Json:
            items = at(definition["ItemsPath"], state, context)

            def run(numbered: tuple[int, Json]) -> Json | StatesError:
                inside = {**context, "Map": {"Item": {"Index": numbered[0], "Value": numbered[1]}}}
                child = filled_in(definition["ItemSelector"], state, inside)
                try:
                    return self._machine(definition["ItemProcessor"], child, context, None)
                except StatesError as error:
                    return error

            with ThreadPoolExecutor(self.at_once) as threads:
                ended = list(threads.map(run, enumerate(items)))
            results = [one for one in ended if not isinstance(one, StatesError)]
            failed = len(ended) - len(results)
            if failed * 100 > definition["ToleratedFailurePercentage"] * len(items):
                raise StatesError("States.ExceedToleratedFailureThreshold")
            if len(str(results)) > 262_144:
                raise Uncaught("States.DataLimitExceeded")
            return results

        return self._attempted(definition, state, context, call)

    def _attempted(
        self, definition: Json, state: Json, context: Json, call: Callable[[], Json]
    ) -> tuple[Json, str | None]:
        retries = [0] * len(definition.get("Retry", []))
        while True:
            try:
                result = call()
                break
            except StatesError as error:
                match = matching(definition.get("Retry", []), error)
                if match is not None and retries[match] < definition["Retry"][match]["MaxAttempts"]:
                    retries[match] += 1
                    continue
                match = matching(definition.get("Catch", []), error)
                if match is None:
                    raise
                catch = definition["Catch"][match]
                caught = {"Error": error.error, "Cause": error.cause}
                return placed(catch.get("ResultPath", "$"), state, caught), catch["Next"]
        return with_result(definition, state, result, context), definition.get("Next")


def matching(rules: list[Json], error: StatesError) -> int | None:
    for index, rule in enumerate(rules):
        if error.error in rule["ErrorEquals"] or "States.ALL" in rule["ErrorEquals"]:
            return index
    return None


def with_result(definition: Json, state: Json, result: Json, context: Json) -> Json:
    if "ResultSelector" in definition:
        result = filled_in(definition["ResultSelector"], result, context)
    state = placed(definition.get("ResultPath", "$"), state, result)
    return at(definition.get("OutputPath", "$"), state, context)


def placed(path: str | None, state: Json, result: Json) -> Json:
    if path is None:
        return state
    if path == "$":
        return result
    if not isinstance(state, dict):
        raise StatesError("States.ResultPathMatchFailure", path)
    return {**copy.deepcopy(state), path.removeprefix("$."): result}


def filled_in(template: Json, state: Json, context: Json) -> Json:
    """A payload template with its paths replaced by what they lead to."""
    if isinstance(template, list):
        return [filled_in(one, state, context) for one in template]
    if not isinstance(template, dict):
        return template
    return {
        key.removesuffix(".$"): evaluated(value, state, context)
        if key.endswith(".$")
        else filled_in(value, state, context)
        for key, value in template.items()
    }


def evaluated(expression: str, state: Json, context: Json) -> Json:
    """A path, or the one intrinsic function that is used."""
    if formatted := re.fullmatch(r"States\.Format\('([^']*)'(.*)\)", expression):
        arguments = [at(path.strip(), state, context) for path in formatted[2].split(",") if path.strip()]
        if any(isinstance(argument, (dict, list)) for argument in arguments):
            raise Uncaught(f"States.Format takes scalars: {expression}")
        return formatted[1].format(*("null" if argument is None else argument for argument in arguments))
    return at(expression, state, context)


def at(path: str | None, state: Json, context: Json) -> Json:
    if path is None:
        return {}
    found = context if path.startswith("$$") else state
    for part in path.lstrip("$").removeprefix(".").split("."):
        if not part:
            continue
        if not isinstance(found, dict) or part not in found:
            raise Uncaught(f"States.Runtime: {path} leads nowhere")
        found = found[part]
    return found
