"""How parameters are cut into slices, and what a slice keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.training import values
from bellwren.engine.training.slices import MOST_SLICES, SLICE_BYTES, Shape, cut, slice_count
from bellwren.engine.training.values import KEPT_LOSSES, Slice

SHAPES = st.dictionaries(
    st.text(max_size=3), st.builds(Shape, st.integers(0, 300), st.integers(0, 100)), max_size=6
)


@given(SHAPES, st.integers(1, 20))
def test_every_row_lies_in_one_slice_in_order(shapes: dict[str, Shape], slices: int) -> None:
    made = cut(shapes, slices)
    assert 1 <= len(made) <= slices
    rows: dict[str, list[int]] = {name: [] for name in shapes}
    for blocks in made:
        for name, start, stop in blocks:
            rows[name] += range(start, stop)
    assert rows == {name: list(range(shape.rows)) for name, shape in shapes.items()}
    assert list(dict.fromkeys(name for blocks in made for name, _, _ in blocks)) == list(shapes)


@given(SHAPES, st.integers(1, 20))
def test_slices_are_of_nearly_equal_size(shapes: dict[str, Shape], slices: int) -> None:
    sizes = [
        sum((stop - start) * shapes[name].row_bytes for name, start, stop in blocks)
        for blocks in cut(shapes, slices)
    ]
    total = sum(shape.rows * shape.row_bytes for shape in shapes.values())
    largest_row = max((shape.row_bytes for shape in shapes.values()), default=0)
    assert max(sizes) <= total / slices + largest_row


@pytest.mark.parametrize(
    ("total_bytes", "count"), [(0, 1), (SLICE_BYTES, 1), (SLICE_BYTES + 1, 2), (1 << 40, MOST_SLICES)]
)
def test_small_parameters_are_one_slice(total_bytes: int, count: int) -> None:
    assert slice_count(total_bytes) == count


@given(st.integers(1, 5))
def test_what_is_cut_and_joined_is_what_it_was(slices: int) -> None:
    arrays: Any = values.given_arrays({"a": np.arange(20.0).reshape(10, 2), "b": 3, "c": np.zeros((0, 2))})
    blocks = cut(values.shapes_of(arrays), slices)
    found = values.joined(Slice(values.rows_of(arrays, one)) for one in blocks)
    assert list(found) == ["a", "b", "c"]
    assert all(
        (found[name] == arrays[name]).all() and found[name].shape == arrays[name].shape for name in arrays
    )


def test_a_slice_says_whose_pushes_are_in() -> None:
    one = Slice({"w": np.zeros(2)}).after(3, 0, {"w": np.ones(2)}).after(3, 4, {"w": np.ones(2)})
    one = Slice.decode(one.encode())
    assert (one.version, one.pushed, one.arrays["w"].tolist()) == (2, {3: 5}, [2.0, 2.0])
    assert [one.has(3, number) for number in (0, 4, 5)] == [True, True, False]
    assert not one.has(0, 0)


def test_losses_are_thinned_out_and_stay_in_order_of_time() -> None:
    one = Slice({})
    for number in range(3 * KEPT_LOSSES):
        one = one.after(number % 7, number // 7, {}, (float(number), 0.5))
    assert KEPT_LOSSES / 2 <= len(one.losses) <= KEPT_LOSSES
    told = values.course([one, one])
    assert len(told) <= KEPT_LOSSES
    assert [number for number, _, _ in told] == sorted(number for number, _, _ in told)


def test_an_update_of_another_shape_is_refused_also_where_another_push_was_the_first_to_name_the_array() -> (
    None
):
    first = Slice({}).after(0, 0, {"w": np.ones(3)})
    with pytest.raises(ValueError, match=r"'w' has the shape \(3,\), its update \(1,\)"):
        first.after(1, 0, {"w": np.ones(1)})
