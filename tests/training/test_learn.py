"""From records to the model in service: what is published, what is not, and what the card says of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bellwren import layout
from bellwren.forecasting.card import ModelError
from bellwren.learning.calibration import WINDOW
from bellwren.learning.merging import Labelled, merge
from bellwren.learning.registry import PublishedMeanwhile, Registry
from bellwren.learning.training import Lesson
from tests.unit.learning.memory import Bucket, put
from training import learn as learning
from training import recent, verdict
from training.learn import learn
from training.recent import MOST_REPEATS, chosen
from training.select import BELLAMY_S, candidates

torch.set_num_threads(1)


def runtime(workers: float, size: float, slower: float = 1.0) -> float:
    return slower * (5 + 8 * size / 1e9 / workers)


def labels(count: int, start: int = 0, slower: float = 1.0) -> list[Labelled]:
    records = Bucket()
    for number in range(start, start + count):
        workers, size = (2, 4, 8)[number % 3], (1e9, 4e9)[number // 3 % 2]
        put(records, number, workers=workers, bytes=size, runtime_s=runtime(workers, size, slower))
    return merge(records, "grep").labels  # type: ignore[arg-type]


@pytest.fixture
def registry() -> Registry:
    return Registry(Bucket("models"))  # type: ignore[arg-type]


def lesson(registry: Registry, found: list[Labelled], **more: Any) -> Lesson:
    return Lesson("grep", found, registry, **more)


def test_the_first_model_is_published_and_the_next_one_knows_the_new_records(registry: Registry) -> None:
    first = learn(lesson(registry, labels(6)))
    assert first["outcome"] == "PUBLISHED"
    assert "is better than the 89.44 % of what is said without one, on 6 choices" in first["reason"]
    second = learn(lesson(registry, labels(9)))
    assert second["outcome"] == "PUBLISHED"
    assert "on 2 record(s) that neither had seen" in second["reason"]
    assert registry.versions("grep") == [first["version"], second["version"]]
    assert registry.current("grep").version == second["version"]
    decision = registry.card("grep", second["version"])["cross_validation"]["decision"]
    assert (decision["published"], decision["champion"]) == (True, first["version"])


def noisy(*runtimes: float, workers: int = 4, said: float = 10.0) -> list[Labelled]:
    """Runs of one choice, of which the analytic prior has said something each time."""
    records = Bucket()
    for number, seconds in enumerate(runtimes):
        forecast = {"workers": workers, "memory_mb": 1769, "runtime_s": said}
        put(records, number, workers=workers, runtime_s=seconds, forecast=forecast, model=None)
    return merge(records, "grep").labels  # type: ignore[arg-type]


@pytest.mark.parametrize("runtimes", [(9.0,), (9.0, 14.0), (10.2, 9.9, 15.0)])
def test_a_few_noisy_runs_make_no_model_that_serves_and_the_card_says_why(
    registry: Registry, runtimes: tuple[float, ...]
) -> None:
    said = learn(lesson(registry, noisy(*runtimes)))
    assert said["outcome"] == "KEPT"
    assert registry.current("grep").version is None
    decision = registry.card("grep", said["version"])["cross_validation"]["decision"]
    assert decision["published"] is False
    assert "run(s) are too few to show" in decision["reason"]


def test_no_model_serves_where_the_prior_is_as_good_and_one_does_where_it_is_not(registry: Registry) -> None:
    kept = learn(lesson(registry, noisy(10.1, 9.9, 10.0, 10.3, 9.8, 10.2)))
    assert kept["outcome"] == "KEPT"
    assert "is not clearly better than" in kept["reason"]
    published = learn(lesson(registry, noisy(30.1, 29.9, 30.0, 30.3, 29.8, 30.2)))
    assert published["outcome"] == "PUBLISHED"
    assert registry.current("grep").version == published["version"]


def test_where_the_world_has_changed_the_new_records_speak_for_the_challenger(registry: Registry) -> None:
    found = labels(30)
    learn(lesson(registry, found))
    new = labels(WINDOW, start=30, slower=2.0)
    second = learn(lesson(registry, [*found, *new], drifted=True, since=new[0].started_at))
    assert second["outcome"] == "PUBLISHED", second["reason"]


def test_a_worse_challenger_is_laid_down_with_the_reason_and_does_not_serve(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = learn(lesson(registry, labels(6)))
    errors = iter([50.0, 10.0])
    monkeypatch.setattr(verdict, "error_percent", lambda *_: next(errors))
    second = learn(lesson(registry, labels(9)))
    assert second["outcome"] == "KEPT"
    assert registry.current("grep").version == first["version"]
    card = registry.card("grep", second["version"])
    assert card["cross_validation"]["decision"]["published"] is False
    assert "error of 50.00 % is worse than the 10.00 %" in card["cross_validation"]["decision"]["reason"]
    assert set(card["cross_validation"]["errors"]) == {"ours", "ernest", "bell"}


def test_a_model_in_service_that_is_damaged_is_replaced(registry: Registry) -> None:
    first = learn(lesson(registry, labels(6)))
    registry._models.put(layout.model("grep", first["version"]), b"damaged")
    second = learn(lesson(registry, labels(6)))
    assert second["outcome"] == "PUBLISHED"
    assert "cannot serve" in second["reason"]


def test_a_family_whose_file_is_not_its_model_gives_way_to_the_next_best(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    real = learning.export

    def refuse_the_first(trained: Any, **options: Any) -> Any:
        tried.append(trained.family)
        if len(tried) == 1:
            raise ModelError("off by 1")
        return real(trained, **options)

    monkeypatch.setattr(learning, "export", refuse_the_first)
    said = learn(lesson(registry, labels(6)))
    assert said["outcome"] == "PUBLISHED"
    assert [said["family"]] == tried[1:]
    assert tried[0] != tried[1]


def test_bellamy_is_a_candidate_where_there_are_contexts_to_learn_from_and_time() -> None:
    few, many = labels(6), [one.execution for one in labels(6)]
    names = {family.name for family in candidates([one.execution for one in few])}
    assert names == {"ours", "ernest", "bell"}
    contexts = [replace(many[0], properties={"bytes": float(size)}) for size in (1, 2, 3)]
    assert {family.name for family in candidates(contexts)} == names | {"bellamy"}
    assert {family.name for family in candidates(contexts * 1000)} == names


def test_bellamy_takes_no_part_where_the_time_is_short_or_a_training_has_vanished() -> None:
    run = labels(1)[0].execution
    contexts = [replace(run, properties={"bytes": float(size)}) for size in (1, 2, 3)]
    for limits in ({"until": time.monotonic() + BELLAMY_S - 1}, {"vanished": 1}):
        assert "bellamy" not in {family.name for family in candidates(contexts, **limits)}  # type: ignore[arg-type]
    enough = candidates(contexts, until=time.monotonic() + BELLAMY_S + 60)
    assert "bellamy" in {family.name for family in enough}


@pytest.mark.parametrize("vanished", [0, 1, 4, 40])
def test_a_training_is_bounded_and_each_that_vanished_halves_the_bounds(
    monkeypatch: pytest.MonkeyPatch, vanished: int
) -> None:
    monkeypatch.setattr(recent, "MOST", 32)
    monkeypatch.setattr(recent, "MOST_CONTEXTS", 16)
    one = labels(1)[0]
    found = [
        replace(
            one, execution=replace(one.execution, properties={"bytes": float(size % 20)}, workers=1.0 + size)
        )
        for size in range(1, 200)
    ]
    kept = chosen(found, vanished=vanished)
    assert len(kept) == max(1, 32 >> vanished)
    assert len({label.execution.context for label in kept}) <= max(1, 16 >> vanished)
    assert kept[-1] is found[-1], "the latest first"


def test_who_loses_the_race_publishes_nothing(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(lesson(registry, labels(6)))
    add = registry.add

    def add_and_lose(*given: Any) -> None:
        add(*given)
        registry.publish("grep", "another", registry.current("grep"))

    monkeypatch.setattr(registry, "add", add_and_lose)
    with pytest.raises(PublishedMeanwhile):
        learn(lesson(registry, labels(7)))
    assert registry.current("grep").version == "another"


def test_after_a_drift_a_cell_is_known_by_its_recent_runs_alone() -> None:
    old, new = labels(60), labels(WINDOW, start=60, slower=2.0)
    since = new[0].started_at
    kept = chosen([*old, *new], since=since)
    assert kept == new
    alone = labels(3, start=0)
    for one in alone:
        object.__setattr__(one.execution, "properties", {"bytes": 9e9})
    assert chosen([*alone, *new], since=since) == [*alone, *new]


def test_without_a_drift_all_runs_count_up_to_the_bound_of_a_cell() -> None:
    found = labels(6 * (MOST_REPEATS + 2))
    kept = chosen(found)
    assert len(kept) == 6 * MOST_REPEATS
    assert kept == found[-len(kept) :]


def test_a_model_learned_after_a_drift_says_what_is_true_now(registry: Registry) -> None:
    found = [*labels(30), *labels(WINDOW, start=30, slower=2.0)]
    learn(lesson(registry, found, drifted=True, since=found[-WINDOW].started_at))
    from bellwren.forecasting.features import Choices
    from bellwren.forecasting.model import RuntimeModel

    version = registry.current("grep").version
    assert version is not None
    model = RuntimeModel.load(*registry.files("grep", version))
    run = found[-1].execution
    said = model.outlook(run.properties, Choices.of([run])).prediction.point_s[0]
    assert said == pytest.approx(run.runtime_s, rel=0.1)
    assert np.isfinite(said)
