"""The order of blocks, by either of the two ways to find it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.sorting import blocks
from bellwren.engine.sorting.blocks import BlockForm, order_in_numpy, order_in_python

Order = Callable[[bytes, int, int], Sequence[int]]


def in_numpy(batch: bytes, size: int, key_bytes: int) -> Sequence[int]:
    found: Sequence[int] = order_in_numpy(np, batch, size, key_bytes).tolist()
    return found


either = pytest.mark.parametrize("order", [in_numpy, order_in_python], ids=["numpy", "python"])


def as_python_sorts(batch: bytes, size: int, key_bytes: int) -> list[int]:
    return sorted(range(len(batch) // size), key=lambda at: batch[at * size : at * size + key_bytes])


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, int, int]:
    """Blocks of up to 40 bytes, most of which share the beginning and many all of their keys."""
    size = draw(st.integers(1, 40))
    key_bytes = draw(st.integers(1, size))
    shared = draw(st.binary(min_size=size, max_size=size))
    some = draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=4))
    keys = st.one_of(
        st.binary(min_size=size, max_size=size),
        st.sampled_from(some),
        st.sampled_from([b"\xff" * size, bytes(size)]),
        st.tuples(st.integers(0, size), st.sampled_from(some)).map(
            lambda found: shared[: found[0]] + found[1][found[0] :]
        ),
    )
    return b"".join(draw(st.lists(keys, max_size=60))), size, key_bytes


@either
@given(batches())
def test_the_order_is_that_of_pythons_stable_sort(order: Order, batch: tuple[bytes, int, int]) -> None:
    assert list(order(*batch)) == as_python_sorts(*batch)


@either
@pytest.mark.parametrize("differ_at", [0, 7, 8, 15, 16, 23])
def test_keys_that_differ_in_one_byte_anywhere_are_told_apart(order: Order, differ_at: int) -> None:
    keys = [bytes(differ_at) + bytes([byte]) + bytes(23 - differ_at) for byte in (255, 1, 128, 0, 127, 1)]
    assert list(order(b"".join(keys), 24, 24)) == [3, 1, 5, 4, 2, 0]
    assert list(order(b"".join(keys), 24, max(1, differ_at))) == (
        [0, 1, 2, 3, 4, 5] if differ_at else [3, 1, 5, 4, 2, 0]
    )


@pytest.mark.parametrize("blocks_", [0, 1, 100, 9_000])
def test_blocks_joined_are_the_same_bytes_with_numpy_and_without(
    blocks_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = memoryview(b"".join(b"%03d-%03d" % (at * 37 % 10, at % 1000) for at in range(blocks_)))
    form = BlockForm(7, 3)
    found = []
    for numpy in (np, None):
        monkeypatch.setattr(blocks, "_numpy", lambda numpy=numpy: numpy)
        records = form.sorted(batch)
        every = [bytes(batch[at * 7 : at * 7 + 7]) for at in range(blocks_)]
        assert list(records) == sorted(every, key=lambda block: block[:3])
        found.append((bytes(form.join(records)), bytes(form.join(records[1:50]))))
    assert found[0] == found[1]


def test_numpy_is_not_loaded_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    real = builtins.__import__

    def noting(name: str, *rest: Any) -> Any:
        loaded.append(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr(builtins, "__import__", noting)
    assert list(BlockForm(2, 1).sorted(b"b1a2a1")) == [b"a2", b"a1", b"b1"]
    assert "numpy" not in loaded
