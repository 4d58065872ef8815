from __future__ import annotations

import numpy as np
import pytest

from bellwren.forecasting.features import Choices
from bellwren.records.execution import Execution
from tests.training import synthetic
from training.bell import Bell, BellAdapted, local_linear
from training.ernest import Ernest
from training.select import select, takes_over


def curve(runtimes: dict[float, float]) -> list[Execution]:
    return [Execution("job", workers, seconds) for workers, seconds in runtimes.items()]


def test_ernest_recovers_the_curve_it_is_made_for() -> None:
    said = (
        Ernest()
        .fit([])
        .adapt(curve({x: 10 + 100 / x + 2 * np.log(x) for x in (1.0, 2.0, 4.0, 8.0, 16.0)}))
        .predict({}, Choices.grid([(3, None), (32, None)]))
    )
    np.testing.assert_allclose(
        said.median_s, [10 + 100 / 3 + 2 * np.log(3), 10 + 100 / 32 + 2 * np.log(32)], rtol=1e-6
    )


def test_bell_takes_local_regression_where_no_curve_fits() -> None:
    zigzag = {2.0: 100.0, 4.0: 50.0, 6.0: 25.0, 8.0: 50.0, 10.0: 75.0, 12.0: 100.0, 14.0: 125.0}
    adapted = Bell().fit([]).adapt(curve(zigzag))
    assert isinstance(adapted, BellAdapted)
    assert adapted.regression is local_linear


def test_selection_leaves_whole_contexts_out_and_says_why() -> None:
    runs = synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)
    chosen = select(runs, contexts=2)
    assert chosen.family.name == min(chosen.errors, key=lambda name: chosen.errors[name]) == "ours"
    assert "ours" in chosen.reason
    assert "ernest" in chosen.reason


def test_a_worse_challenger_does_not_take_over() -> None:
    assert takes_over(3.0, 4.0)[0]
    assert not takes_over(4.0, 3.0)[0]
    assert "is worse than" in takes_over(4.0, 3.0)[1]


def test_selection_without_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="no execution records"):
        select([])
