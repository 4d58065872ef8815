from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bellwren import cost
from bellwren.forecasting.costs import cost_of_many


@given(
    st.lists(
        st.tuples(st.integers(1, 10_000), st.integers(128, 10_240), st.floats(1e-3, 1e6)),
        min_size=1,
        max_size=9,
    )
)
def test_many_costs_are_each_as_one_alone(candidates: list[tuple[int, int, float]]) -> None:
    workers, memory_mb, runtime_s = (
        np.array(column, dtype=float) for column in zip(*candidates, strict=True)
    )
    expected = [cost.estimate(*candidate) for candidate in candidates]
    np.testing.assert_allclose(cost_of_many(workers, memory_mb, runtime_s), expected, rtol=1e-9)
