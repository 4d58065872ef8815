from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from bellwren.forecasting.features import Choices
from bellwren.records.execution import Execution, Value
from tests.training import synthetic
from training.ours.family import Ours, OursGeneral

torch.set_num_threads(1)
GRID = Choices.grid((workers, 4000.0) for workers in (2.0, 3.0, 8.0, 12.0))


@pytest.fixture(scope="module")
def general() -> OursGeneral:
    held_out = [
        run for run in synthetic.runs() if run.properties["bytes"] != 8e9 or run.properties["rounds"] != 5.0
    ]
    return Ours().fit(held_out)


def target(rounds: float = 5.0, size: float = 8e9) -> dict[str, float | str]:
    return {"bytes": size, "rounds": rounds, "memory_mb": 4000.0, "dataset": "logs"}


def test_a_context_never_run_is_forecast_within_ten_per_cent(general: OursGeneral) -> None:
    choices = Choices.grid((workers, 4000.0) for workers in synthetic.SCALE_OUTS)
    said = general.adapt(()).predict(target(), choices)
    true = np.array([synthetic.truth(8e9, workers, 5.0) for workers in synthetic.SCALE_OUTS])
    assert np.mean(np.abs(said.point_s / true - 1)) < 0.10


def test_one_run_moves_the_forecast_of_a_slower_context_towards_it(general: OursGeneral) -> None:
    slower = Execution("made-up", 8.0, 1.5 * synthetic.truth(8e9, 8.0, 5.0), target())
    before = general.adapt(()).predict(target(), GRID).median_s
    after = general.adapt([slower]).predict(target(), GRID).median_s
    true = 1.5 * np.array([synthetic.truth(8e9, workers, 5.0) for workers in GRID.workers])
    assert np.all(np.abs(np.log(after / true))[1:] < np.abs(np.log(before / true))[1:])


def test_a_run_narrows_the_doubt_about_its_own_scale_out(general: OursGeneral) -> None:
    seen = [Execution("made-up", 8.0, synthetic.truth(8e9, 8.0, 5.0), target())]
    width = [np.log(general.adapt(few).predict(target(), GRID).high_s[2]) for few in ((), seen * 3)]
    median = [np.log(general.adapt(few).predict(target(), GRID).median_s[2]) for few in ((), seen * 3)]
    assert width[1] - median[1] < width[0] - median[0]


def test_the_few_shot_update_takes_less_than_five_milliseconds(general: OursGeneral) -> None:
    seen = [run for run in synthetic.runs() if run.context == synthetic.runs()[0].context][:6]
    adapted = general.adapt(seen)
    prior = adapted.prior(target(), GRID)
    from bellwren.forecasting.update import condition

    taken = []
    for _ in range(20):
        start = time.perf_counter()
        condition(prior, np.array([run.runtime_s for run in seen]))
        taken.append(time.perf_counter() - start)
    assert np.median(taken) < 0.005


def test_far_extrapolation_is_finite_positive_and_in_doubt(general: OursGeneral) -> None:
    said = general.adapt(()).predict(target(), Choices.grid([(1, 4000), (8, 4000), (40, 4000), (1000, 4000)]))
    assert np.all(np.isfinite(said.high_s))
    assert np.all(said.low_s > 0)
    width = said.high_s / said.median_s
    assert width[3] > width[2] > width[1]


def test_another_unit_of_a_property_changes_nothing() -> None:
    few = synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)
    scaled = [
        replace(run, properties={**run.properties, "rounds": run.properties["rounds"] * 1000}) for run in few
    ]
    one = Ours().fit(few).adapt(()).predict(target(3.0), GRID)
    other = Ours().fit(scaled).adapt(()).predict(target(3000.0), GRID)
    np.testing.assert_allclose(one.median_s, other.median_s, rtol=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_runs_is_enough_to_answer(count: int) -> None:
    few = [Execution("tiny", 4.0 * (at + 1), 100.0 / (at + 1), {}) for at in range(count)]
    said = Ours().fit(few).adapt(()).predict({}, Choices.grid([(4, None), (6, None), (64, None)]))
    assert np.all(np.isfinite(said.high_s))
    assert np.all(said.low_s > 0)
    assert said.median_s[0] == pytest.approx(100.0, rel=0.15)
    assert said.high_s[2] / said.median_s[2] > said.high_s[0] / said.median_s[0]


def test_exact_duplicates_one_scale_out_constant_missing_and_text_properties_are_taken() -> None:
    runs = [
        Execution(
            "odd",
            4.0,
            10.0 + at,
            {"same": 1.0, "kind": "a" if at % 2 else "b"} | ({"n": at * 1.0} if at else {}),
        )
        for at in range(6)
        for _ in range(2)
    ]
    said = (
        Ours().fit(runs).adapt(()).predict({"kind": "never", "n": 2.0}, Choices.grid([(4, None), (8, None)]))
    )
    assert np.all(np.isfinite(said.high_s))
    assert 5 < said.median_s[0] < 25


ODD: dict[str, list[dict[str, Value]]] = {
    "nothing but zeros": [{"bytes": 0.0, "k": 0.0}, {"bytes": 0.0, "k": 0.0, "z": 0.0}, {"k": 0.0}],
    "numbers below zero": [{"bytes": 1e9, "k": k} for k in (-5.0, -1.0, 0.0, 7.0)],
    "hundreds of orders": [{"bytes": b, "k": k} for b in (1e3, 1e24) for k in (1e-300, 1e300)],
    "texts among numbers": [{"bytes": 1e9, "k": "x"}, {"bytes": 2e9, "k": 3.0}, {"bytes": 3e9}],
    "machines with and without data sheets": [
        {"bytes": 1e9, "machine_type": "m4.2xlarge", "slots": 8.0},
        {"bytes": 2e9, "machine_type": "c3.large"},
        {"bytes": 3e9, "machine_type": "my-box"},
    ],
}


@pytest.mark.parametrize("properties", ODD.values(), ids=ODD)
def test_whatever_the_records_hold_and_whatever_is_asked_the_answer_is_finite_and_positive(
    properties: list[dict[str, Value]],
) -> None:
    general = Ours().fit(
        [Execution("odd", x, 5 + 60 / x, given) for given in properties for x in (1.0, 2.0, 4.0)]
    )
    shown = [Execution("odd", 2.0, 3e7), Execution("odd", 2.0, 1.0), Execution("odd", 1.0, 1e-6)]
    asked: list[dict[str, Value]] = [
        {},
        {"bytes": 1e24, "k": 1e300, "machine_type": "r4.xlarge", "slots": 4.0},
        {"bytes": "text", "k": -1e300, "machine_type": 5.0, "new": "x"},
    ]
    for target in asked:
        for runs_shown in ([], shown[:1], shown):
            said = general.adapt(runs_shown).predict(
                target, Choices.grid([(1, None), (7, 128.0), (1e6, 1e4)])
            )
            for part in vars(said).values():
                assert np.all(np.isfinite(part))
                assert np.all(part > 0)
            assert np.all((said.low_s <= said.median_s) & (said.median_s <= said.high_s))


def test_the_same_seed_gives_the_same_model() -> None:
    few = synthetic.runs(sizes=(2e9, 4e9), rounds=(1.0, 5.0), repeats=2)
    first, second = (Ours().fit(few, seed=3).adapt(()).predict(target(), GRID) for _ in range(2))
    np.testing.assert_array_equal(first.high_s, second.high_s)


def test_with_more_cells_than_inducing_points_the_answer_hardly_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from training.ours import fit

    few = synthetic.runs(repeats=1)
    exact = Ours().fit(few).adapt(()).predict(target(), GRID)
    monkeypatch.setattr(fit, "INDUCING", 36)
    sparse = Ours().fit(few).adapt(()).predict(target(), GRID)
    np.testing.assert_allclose(sparse.median_s, exact.median_s, rtol=0.03)
