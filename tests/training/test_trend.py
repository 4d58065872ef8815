"""The physical mean: sums of costs are found from few contexts, and go on beyond them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bellwren.forecasting.features import Array, Choices, learn_schema
from bellwren.records.execution import Execution, Value
from training.cells import gather
from training.ours.family import Ours
from training.ours.trend import Trend, learn_trend

SCALE_OUTS = (2.0, 4.0, 6.0, 12.0)


def seconds(size: float, share: float, workers: float) -> float:
    """Reading is shared by the workers, and what is found is written by one of them."""
    return 5.0 + size / 1e8 * (4.0 / workers + share)


def runs(sizes: tuple[float, ...], shares: tuple[float, ...], unit: float = 1.0) -> list[Execution]:
    return [
        Execution("search", workers, seconds(size, share, workers), {"bytes": size, "share": share * unit})
        for size in sizes
        for share in shares
        for workers in SCALE_OUTS
    ]


MEASURED = runs((1e10, 1.3e10, 1.6e10), (0.25, 0.5, 0.75))


def foreseen(
    measured: list[Execution], properties: dict[str, Value], scale_outs: tuple[float, ...]
) -> tuple[Trend, Array]:
    schema = learn_schema(measured)
    trend = learn_trend(gather(measured, schema), schema)
    choices = Choices.grid((workers, None) for workers in scale_outs)
    block, rows = schema.properties(properties)[None, :], schema.rows(properties, choices)
    said: Array = trend.of(torch.from_numpy(block), torch.from_numpy(rows)).exp().numpy()
    return trend, said


@pytest.mark.parametrize(("size", "share"), [(2.5e10, 0.0), (2.5e10, 1.0), (5e9, 0.0), (5e9, 1.0)])
def test_costs_that_add_up_are_foreseen_beyond_sizes_and_parameters_measured(
    size: float, share: float
) -> None:
    _, said = foreseen(MEASURED, {"bytes": size, "share": share}, SCALE_OUTS)
    np.testing.assert_allclose(said, [seconds(size, share, x) for x in SCALE_OUTS], rtol=0.1)


def test_the_whole_model_keeps_what_the_sum_of_costs_foresees() -> None:
    target: dict[str, Value] = {"bytes": 2.5e10, "share": 0.0}
    said = Ours().fit(MEASURED).adapt(()).predict(target, Choices.grid((x, None) for x in SCALE_OUTS))
    np.testing.assert_allclose(said.median_s, [seconds(2.5e10, 0.0, x) for x in SCALE_OUTS], rtol=0.1)


def test_no_cost_is_negative_and_the_unit_of_a_property_does_not_matter() -> None:
    trend, said = foreseen(MEASURED, {"bytes": 2e10, "share": 0.9}, SCALE_OUTS)
    other = runs((1e10, 1.3e10, 1.6e10), (0.25, 0.5, 0.75), unit=1e-3)
    _, scaled = foreseen(other, {"bytes": 2e10, "share": 0.9e-3}, SCALE_OUTS)
    assert np.all(trend.weights > 0)
    np.testing.assert_allclose(said, scaled, rtol=1e-6)


@pytest.mark.parametrize("share", [-1e300, -1.0, 0.0, 1e300])
def test_a_property_far_out_of_range_leaves_a_finite_positive_runtime(share: float) -> None:
    _, said = foreseen(MEASURED, {"bytes": 1e30, "share": share}, (1.0, 1e6))
    assert np.all(np.isfinite(said))
    assert np.all(said > 0)


def test_a_falling_effect_is_found_too() -> None:
    measured = [
        Execution("iterate", x, 10 + 40 * np.log1p(0.01 / bound) + 60 / x, {"bytes": size, "bound": bound})
        for size in (1e9, 2e9)
        for bound in (1e-4, 1e-3, 1e-2)
        for x in SCALE_OUTS
    ]
    _, said = foreseen(measured, {"bytes": 1e9, "bound": 3e-4}, SCALE_OUTS)
    true = [10 + 40 * np.log1p(0.01 / 3e-4) + 60 / x for x in SCALE_OUTS]
    np.testing.assert_allclose(said, true, rtol=0.1)


def test_where_slots_are_known_more_memory_is_not_taken_for_speed() -> None:
    """One of two machines is twice as fast; nothing says that a third with half the memory is twice as slow."""
    measured = [
        Execution(
            "sort",
            workers,
            size / 1e8 / workers / speed,
            {"bytes": size, "machine_type": name, "memory_mb": memory_mb, "slots": 8.0},
        )
        for name, memory_mb, speed in (("m", 32e3, 1.0), ("r", 64e3, 2.0))
        for size in (1e10, 1.5e10, 2e10)
        for workers in SCALE_OUTS
    ]
    asked: dict[str, Value] = {"bytes": 1.5e10, "machine_type": "c", "memory_mb": 16e3, "slots": 8.0}
    said = Ours().fit(measured).adapt(()).predict(asked, Choices.grid([(4, 16e3)], slots=8.0))
    assert said.median_s[0] < 1.3 * (1.5e10 / 1e8 / 4)


def test_rounds_that_are_no_longer_taken_cost_nothing_and_fewer_cost_in_proportion() -> None:
    """Converged after 50 rounds: what is between 1 and 50 was never run."""
    measured = [
        Execution("iterate", x, 5 + min(rounds, 50.0) * size / 1e9 / x, {"bytes": size, "rounds": rounds})
        for size in (1e9, 2e9, 4e9)
        for rounds in (1.0, 50.0, 100.0)
        for x in SCALE_OUTS
    ]
    for rounds, taken in ((25.0, 25.0), (75.0, 50.0), (1000.0, 50.0)):
        _, said = foreseen(measured, {"bytes": 2e9, "rounds": rounds}, SCALE_OUTS)
        np.testing.assert_allclose(said, [5 + taken * 2 / x for x in SCALE_OUTS], rtol=0.15)


def sorting(machines: dict[str, float], slots: float | None = 8.0) -> list[Execution]:
    """A job that waits for its disks, on machines of so many Mbit/s."""
    known: dict[str, Value] = {} if slots is None else {"slots": slots}
    return [
        Execution("sort", x, 5 + size / 1e4 / speed / x, {"bytes": size, "machine_type": name, **known})
        for name, speed in machines.items()
        for size in (1e10, 1.5e10, 2e10)
        for x in SCALE_OUTS
    ]


@pytest.mark.parametrize("slots", [8.0, None])
def test_a_machine_never_seen_is_as_fast_as_its_data_sheet_says_of_what_bounds_the_job(
    slots: float | None,
) -> None:
    """Of two machines the one has faster processors and equal disks, and gains nothing by them."""
    measured = sorting({"c4.2xlarge": 1000.0, "m4.2xlarge": 1000.0}, slots)
    asked: dict[str, Value] = {"bytes": 1.5e10, "machine_type": "r4.2xlarge"}
    said = Ours().fit(measured).adapt(()).predict(asked, Choices.grid([(4, None)], slots=slots))
    same = (
        Ours()
        .fit(measured)
        .adapt(())
        .predict({**asked, "machine_type": "mine"}, Choices.grid([(4, None)], slots=slots))
    )
    true = sorting({"r4.2xlarge": 1700.0})
    (run,) = (one for one in true if one.workers == 4 and one.properties["bytes"] == 1.5e10)
    assert abs(np.log(said.median_s[0] / run.runtime_s)) < 0.25
    assert same.median_s[0] == pytest.approx(5 + 1.5e10 / 1e4 / 1000 / 4, rel=0.2)
