"""The prediction function's half: which model serves, what is answered with and without one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import torch

from bellwren import layout
from bellwren.control.forecast import make_forecast
from bellwren.control.served import ServedModels
from bellwren.deployment import Deployment
from tests.training import synthetic
from training.export import Published, export
from training.ours.family import Ours
from training.publish import exportable

torch.set_num_threads(1)
DEPLOYMENT = Deployment(
    "t", "jobs", "data", "records", "models", max_workers=50, worker_memory_mb=(1769, 3008)
)
SPEC: dict[str, Any] = {
    "name": "job",
    "algorithm": "made-up",
    "kind": "map_reduce",
    "workers": "auto",
    "memory_mb": "auto",
    "objective": "cost",
    "context": {"dataset": "logs"},
}
PROFILE: dict[str, Any] = {"bytes": 8_000_000_000, "items": None, "params": {"rounds": 5.0}}


class Objects:
    """As much of a store as serving asks for."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def get(self, key: str) -> bytes:
        try:
            return self.objects[key]
        except KeyError:
            raise FileNotFoundError(key) from None

    def find_with_etag(self, key: str) -> tuple[bytes, str] | None:
        data = self.objects.get(key)
        return None if data is None else (data, hashlib.sha256(data).hexdigest())

    def publish(self, made: Published, version: str) -> None:
        self.objects[layout.model("made-up", version)] = made.model
        self.objects[layout.model_card("made-up", version)] = json.dumps(made.card.as_dict()).encode()
        self.objects[layout.current_model("made-up")] = json.dumps({"version": version}).encode()


@pytest.fixture(scope="module")
def made() -> Published:
    return export(exportable(Ours(), synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)))


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Objects:
    monkeypatch.setattr("bellwren.control.served._LOOK_EVERY_S", 0.0)
    return Objects()


def asked(objects: Objects, served: ServedModels | None = None, **spec: Any) -> dict[str, Any]:
    return make_forecast({**SPEC, **spec}, PROFILE, DEPLOYMENT, served or ServedModels(objects))  # type: ignore[arg-type]


def test_without_a_model_the_stated_default_is_taken_and_said(objects: Objects) -> None:
    found = asked(objects)
    assert (found["choice"]["workers"], found["choice"]["memory_mb"]) == (16, 1769)
    assert found["model"] is None
    assert "stated default" in found["reason"]
    assert all(row["runtime_s"] > 0 for row in found["forecasts"])


def test_without_a_model_a_deadline_still_decides(objects: Objects) -> None:
    relaxed, tight = asked(objects, deadline_s=3000.0), asked(objects, deadline_s=120.0)
    assert relaxed["choice"]["workers"] < tight["choice"]["workers"]
    assert tight["choice"]["meets_deadline"]


def test_what_the_user_fixed_stands(objects: Objects) -> None:
    found = asked(objects, workers=7, memory_mb=3008, deadline_s=100.0)
    assert {(row["workers"], row["memory_mb"]) for row in found["forecasts"]} == {(7, 3008)}


def test_a_model_forecasts_every_candidate_and_its_choice_keeps_the_deadline(
    objects: Objects, made: Published
) -> None:
    objects.publish(made, "v1")
    found = asked(objects, deadline_s=60.0)
    assert found["model"]["family"] == made.card.family
    choice = found["choice"]
    assert choice["meets_deadline"] is (choice["runtime_p95_s"] <= 60.0)
    cheaper = [row for row in found["forecasts"] if row["meets_deadline"] and not row["extrapolated"]]
    assert choice["cost_usd"] == min(row["cost_usd"] for row in cheaper)


def test_a_new_version_is_taken_up_and_a_bad_one_never_replaces_a_good_one(
    objects: Objects, made: Published
) -> None:
    served = ServedModels(objects)  # type: ignore[arg-type]
    objects.publish(made, "v1")
    first = served.get("made-up")
    assert first is not None
    objects.publish(made, "v2")
    second = served.get("made-up")
    assert second is not None
    assert second is not first
    for version, model, card in (
        ("damaged", made.model[:-100], json.dumps(made.card.as_dict()).encode()),
        ("empty", b"", b""),
        ("not-json", made.model, b"<html>"),
    ):
        objects.objects[layout.model("made-up", version)] = model
        objects.objects[layout.model_card("made-up", version)] = card
        objects.objects[layout.current_model("made-up")] = json.dumps({"version": version}).encode()
        assert served.get("made-up") is second
    objects.objects[layout.current_model("made-up")] = b"no json at all"
    assert served.get("made-up") is second
    objects.objects[layout.current_model("made-up")] = json.dumps({"version": "missing"}).encode()
    assert served.get("made-up") is second


def test_a_process_that_never_had_the_one_before_a_bad_version_takes_it_up(
    objects: Objects, made: Published
) -> None:
    objects.publish(made, "v1")
    current = {"version": "missing", "before": "v1"}
    objects.objects[layout.current_model("made-up")] = json.dumps(current).encode()
    served = ServedModels(objects)  # type: ignore[arg-type]
    assert served.get("made-up") is not None
    objects.objects[layout.current_model("made-up")] = json.dumps({**current, "before": None}).encode()
    assert ServedModels(objects).get("made-up") is None  # type: ignore[arg-type]


def test_a_model_that_was_withdrawn_serves_no_more(objects: Objects, made: Published) -> None:
    served = ServedModels(objects)  # type: ignore[arg-type]
    objects.publish(made, "v1")
    assert served.get("made-up") is not None
    del objects.objects[layout.current_model("made-up")]
    assert served.get("made-up") is None


def test_a_store_that_does_not_answer_takes_no_model_out_of_service(
    objects: Objects, made: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = ServedModels(objects)  # type: ignore[arg-type]
    objects.publish(made, "v1")
    first = served.get("made-up")

    def silent(_key: str) -> None:
        raise TimeoutError

    monkeypatch.setattr(objects, "find_with_etag", silent)
    assert served.get("made-up") is first
    with pytest.raises(TimeoutError):
        served.get("another")


def test_a_model_that_fails_on_a_question_gives_way_to_the_default_and_says_so(
    objects: Objects, made: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.publish(made, "v1")
    served = ServedModels(objects)  # type: ignore[arg-type]
    model = served.get("made-up")
    assert model is not None

    def broken(*_: Any) -> None:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(model, "_session", type("Session", (), {"run": broken})())
    found = asked(objects, served)
    assert found["source"] == "stated default"
    assert found["model"] is None
    assert any("no such kernel" in flag for flag in found["flags"])


@pytest.mark.parametrize(
    "odd",
    [
        {"bytes": 0},
        {"bytes": 10**30},
        {"params": {"rounds": "many"}},
        {"params": {"rounds": -1e300, "new": [1, 2]}},
        {"params": {}, "items": 3},
    ],
)
def test_whatever_is_asked_no_answer_is_negative_absurd_or_silent_about_it(
    objects: Objects, made: Published, odd: dict[str, Any]
) -> None:
    objects.publish(made, "v1")
    served = ServedModels(objects)  # type: ignore[arg-type]
    found = make_forecast(SPEC, {**PROFILE, **odd}, DEPLOYMENT, served)
    for row in found["forecasts"]:
        assert 0 < row["runtime_s"] <= row["runtime_p95_s"] <= 365 * 24 * 3600
        assert 0 < row["cost_usd"] < float("inf")
    assert found["flags"]
    json.dumps(found, allow_nan=False)
