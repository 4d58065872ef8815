"""A sort as a whole: what comes out is what Python's own sort gives, however it was cut."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.sorting.blocks import BlockForm
from bellwren.engine.sorting.forms import LineForm
from bellwren.errors import InputError
from tests.unit.engine.sorting.jobs import sort_keyed, sort_plain

counts = st.integers(1, 5)
block_sizes = st.integers(1, 40)
steps = st.integers(1, 4)
lines = st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line), max_size=25)
blocks = st.lists(st.binary(min_size=4, max_size=4), max_size=25)
few_values = st.lists(
    st.sampled_from([b"aaaa", b"aaab", b"abaa", b"\xff\x00\x00\x01", bytes(4)]), max_size=25
)
numbers = st.lists(
    st.one_of(st.integers(-3, 3), st.floats(), st.none(), st.booleans(), st.just(10**30)), max_size=25
)


def order(key: Any) -> Any:
    """The stated order: NaN behind all numbers, None behind NaN."""
    if key is None:
        return 2, 0
    return (1, 0) if key != key else (0, key)


@given(st.lists(lines, min_size=1, max_size=5), counts, block_sizes, steps, st.none() | st.integers(0, 3))
def test_lines_come_out_as_python_sorts_them(
    tasks: list[list[bytes]], count: int, block_bytes: int, step: int, key_bytes: int | None
) -> None:
    form = LineForm(b"\n", key_bytes)
    texts = [b"".join(line + b"\n" for line in task) for task in tasks]
    found = sort_plain(form, texts, count, block_bytes, step)
    everything = [line for task in tasks for line in task]
    assert [form.value_bytes(line) for part in found for line in part] == sorted(
        everything, key=lambda line: line if key_bytes is None else line[:key_bytes]
    )


@given(
    st.lists(blocks | few_values, min_size=1, max_size=5),
    counts,
    block_sizes,
    steps,
    st.none() | st.integers(1, 9),
)
def test_blocks_come_out_as_python_sorts_them(
    tasks: list[list[bytes]], count: int, block_bytes: int, step: int, key_bytes: int | None
) -> None:
    """Sorting by leading bytes is stable, which only blocks with different ends show."""
    found = sort_plain(BlockForm(4, key_bytes), [b"".join(task) for task in tasks], count, block_bytes, step)
    everything = [block for task in tasks for block in task]
    assert [block for part in found for block in part] == sorted(
        everything, key=lambda block: block[:key_bytes]
    )


@given(
    st.lists(st.binary(min_size=10, max_size=10), max_size=60),
    st.integers(0, 9),
    st.binary(min_size=1, max_size=1),
)
def test_blocks_that_share_most_of_their_keys_are_told_apart(
    task: list[bytes], shared: int, byte: bytes
) -> None:
    task = [byte * shared + block[shared:] for block in task]
    (part,) = sort_plain(BlockForm(10, 9), [b"".join(task)], 1, 100)
    assert list(part) == sorted(task, key=lambda block: block[:9])


@given(st.lists(numbers, min_size=1, max_size=5), counts, block_sizes, steps)
def test_values_come_out_in_order_with_nan_and_then_none_last_and_nothing_lost(
    tasks: list[list[Any]], count: int, block_bytes: int, step: int
) -> None:
    found = sort_keyed(lambda value: value, tasks, count, block_bytes, step)
    everything = [
        (order(value), task, position, repr(value))
        for task, values in enumerate(tasks)
        for position, value in enumerate(values)
    ]
    everything.sort(key=lambda entry: entry[:3])
    assert [tuple(record) for part in found for record in part] == [
        (text, task, position) for _, task, position, text in everything
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([(1, None), (1, 2), (0, None), (1, math.nan)], [2, 1, 3, 0]),
        ([[2], [None], [1]], [2, 0, 1]),
        ([(1, (None, 1)), (1, (0, 2))], [1, 0]),
        ([0.0, -0.0, False, 0], [0, 1, 2, 3]),
    ],
    ids=["tuples", "lists", "nested", "equal"],
)
def test_members_of_tuples_and_lists_are_ranked_too(keys: list[Any], expected: list[int]) -> None:
    (part,) = sort_keyed(lambda value: value, [keys], 1, 100)
    assert [position for _, _, position in part] == expected


@pytest.mark.parametrize("count", [1, 3])
def test_keys_of_types_that_do_not_compare_are_refused_with_an_example_of_each(count: int) -> None:
    with pytest.raises(
        InputError, match=r"int, such as 3; str, such as 'x'|str, such as 'x'; int, such as 3"
    ):
        sort_keyed(lambda value: value, [[3, 3], ["x", "x"]], count, 10)
    with pytest.raises(InputError, match="tuple of int, NoneType, such as"):
        sort_keyed(lambda value: value, [[(3, None), "x"]], count, 10)


class Reversed:
    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Reversed) -> bool:
        return self.value > other.value


class Broken(Reversed):
    def __lt__(self, other: Reversed) -> bool:
        raise RuntimeError("no order today")


def test_keys_may_be_of_a_users_own_class() -> None:
    found = sort_keyed(Reversed, [[1, 5, 3], [4, 2], []], 3, 30)
    assert [text for part in found for text, _, _ in part] == ["5", "4", "3", "2", "1"]


def test_a_comparison_that_raises_ends_the_sort_with_its_words() -> None:
    with pytest.raises(InputError, match="no order today"):
        sort_keyed(Broken, [[1, 2]], 1, 30)


def test_an_array_as_a_key_is_refused_by_name() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match="ndarray has no order"):
        sort_keyed(lambda value: numpy.array([value, value]), [[1, 2]], 1, 30)


def test_missing_values_of_other_libraries_rank_as_nan() -> None:
    pandas = pytest.importorskip("pandas")
    (part,) = sort_keyed(lambda value: value, [[pandas.NaT, pandas.Timestamp(1)]], 1, 30)
    assert [position for _, _, position in part] == [1, 0]
