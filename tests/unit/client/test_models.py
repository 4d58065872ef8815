from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bellwren import layout
from bellwren.client.models import Models, NoRecords, RetrainFailed
from bellwren.errors import NotDeployed
from bellwren.learning.registry import Registry, UnknownModel
from bellwren.learning.state import LearningState
from tests.unit.learning.memory import Bucket

CARD = {"family": "ours", "mre": 7.5, "records": 9, "contexts": 2, "trained_at": "2026-11-30T12:00:00+00:00"}


class Functions:
    """Lambda, with the answers of the tick; a training that was started ends as it is told."""

    def __init__(self, models: Bucket) -> None:
        self._models = models
        self.answer: dict[str, Any] = {}
        self.error = False
        self.outcome: dict[str, Any] | None = None
        self.asked: list[Any] = []

    def invoke(self, **called: Any) -> dict[str, Any]:
        self.asked.append(json.loads(called["Payload"]))
        found = {
            "messages": 0,
            "started": {},
            "unchanged": [],
            "busy": [],
            "later": [],
            "unknown": [],
            "strange": 0,
            **self.answer,
        }
        for algorithm, batch in found["started"].items():
            state = LearningState(self._models, algorithm)  # type: ignore[arg-type]
            state.take(batch)
            if self.outcome:
                state.settle(batch, last={"batch": batch, **self.outcome})
        failed = {"FunctionError": "Unhandled"} if self.error else {}
        return {"Payload": io.BytesIO(json.dumps(found).encode()), **failed}


@pytest.fixture
def bucket() -> Bucket:
    bucket = Bucket("models")
    registry = Registry(bucket)  # type: ignore[arg-type]
    for version in ("1", "2"):
        registry.add("grep", version, b"onnx", {**CARD, "version": version}, [])
        registry.publish("grep", version, registry.current("grep"))
    return bucket


@pytest.fixture
def functions(bucket: Bucket) -> Functions:
    return Functions(bucket)


@pytest.fixture
def models(bucket: Bucket, functions: Functions) -> Models:
    return Models(bucket, functions, "collect")  # type: ignore[arg-type]


def test_the_model_in_service_is_listed_and_shown_with_its_versions(models: Models) -> None:
    (one,) = models.list()
    assert (one["algorithm"], one["version"], one["versions"]) == ("grep", "2", ["1", "2"])
    assert models.show("grep")["card"]["version"] == "2"
    assert models.show("grep", "1")["card"]["version"] == "1"
    with pytest.raises(UnknownModel, match="no model of 'sort'"):
        models.show("sort")


def test_a_rollback_is_said_and_seen(models: Models) -> None:
    assert models.roll_back("grep") == {"algorithm": "grep", "before": "2", "version": "1"}
    assert models.show("grep")["rolled_back"]


def test_what_a_training_came_to_is_waited_for(models: Models, functions: Functions) -> None:
    functions.answer = {"started": {"grep": "b1"}}
    functions.outcome = {"outcome": "KEPT", "reason": "worse"}
    assert models.retrain(wait=True)["outcomes"]["grep"]["reason"] == "worse"
    assert functions.asked == [{}]


def test_a_training_that_failed_is_an_error_with_its_reason(models: Models, functions: Functions) -> None:
    functions.answer = {"started": {"grep": "b1"}}
    functions.outcome = {"outcome": "FAILED", "reason": "out of paper"}
    with pytest.raises(RetrainFailed, match="out of paper"):
        models.retrain("grep", wait=True)
    assert functions.asked == [{"algorithm": "grep"}]


def test_a_training_that_never_says_anything_is_not_waited_for_for_ever(
    models: Models, functions: Functions
) -> None:
    functions.answer = {"started": {"grep": "b1"}}
    with pytest.raises(RetrainFailed, match="bellwren models show grep"):
        models.retrain("grep", wait=True, timeout_s=0.01)


def test_a_training_that_was_killed_is_not_waited_for_longer_than_its_lease(
    models: Models, bucket: Bucket, functions: Functions
) -> None:
    functions.answer = {"started": {"grep": "b1"}}
    invoke = functions.invoke

    def invoke_and_kill(**called: Any) -> dict[str, Any]:
        answer = invoke(**called)
        document = json.loads(bucket.get(layout.learning("grep")))
        document["lease"]["until"] = 0
        bucket.put_json(layout.learning("grep"), document)
        return answer

    functions.invoke = invoke_and_kill  # type: ignore[method-assign]
    with pytest.raises(RetrainFailed, match="it was killed"):
        models.retrain("grep", wait=True)
    assert models.show("grep")["training"] is False
    functions.invoke = invoke  # type: ignore[method-assign]
    functions.answer, functions.outcome = {"busy": ["grep"], "started": {}}, None
    asked = len(functions.asked)

    def free(**called: Any) -> dict[str, Any]:
        functions.answer = {"unknown": ["grep"]} if len(functions.asked) > asked else functions.answer
        return invoke(**called)

    functions.invoke = free  # type: ignore[method-assign]
    with pytest.raises(
        NoRecords
    ):  # the second time it is asked, at once, since nobody holds a lease any more
        models.retrain("grep", wait=True, timeout_s=20)


def test_an_algorithm_without_records_is_refused_with_what_to_do(
    models: Models, functions: Functions
) -> None:
    functions.answer = {"unknown": ["sort"]}
    with pytest.raises(NoRecords, match="bellwren records import"):
        models.retrain("sort")


def test_a_tick_that_fails_and_a_deployment_without_one_are_said(
    bucket: Bucket, functions: Functions, models: Models
) -> None:
    functions.error = True
    with pytest.raises(RetrainFailed, match="the tick failed"):
        models.retrain()
    with pytest.raises(NotDeployed, match="cdk deploy"):
        Models(bucket, functions, "").retrain()  # type: ignore[arg-type]
