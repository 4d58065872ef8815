"""Which partition a key belongs to."""

from __future__ import annotations

import datetime
import enum
import json
import numbers
import os
import subprocess
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.hashing import canonical, partition_of, partition_of_hash, stable_hash

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False),
    st.text(st.characters(exclude_categories=[])),
    st.binary(),
    st.dates(),
    st.timedeltas(),
    st.uuids(),
)
keys = st.recursive(
    atoms, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4), max_leaves=6
)


@dataclass(frozen=True)
class Point:
    x: int
    y: float


class Colour(enum.Enum):
    RED = 1


class Paint(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    TWO = 2


class Holiday(datetime.date, enum.Enum):
    FIRST = (2024, 1, 1)


class Half(Fraction):
    """As other libraries' exact numbers: equal to Python's, with a hash of its own."""

    def __new__(cls) -> Half:
        return super().__new__(cls, 1, 2)

    def __eq__(self, other: object) -> bool:
        return Fraction(1, 2) == other

    def __hash__(self) -> int:
        return hash("salted")


class AnyCase(str):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


class Money(numbers.Number):
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(str(self.amount))


@dataclass(frozen=True, eq=False)
class ByIdentity:
    x: int


@dataclass(frozen=True)
class Named:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


LATE = datetime.datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"))
"""There was a second half past one that day."""


class Pair(NamedTuple):
    name: str
    value: Any


@given(keys, keys)
def test_equal_keys_have_equal_hashes(one: Hashable, other: Hashable) -> None:
    if one == other:
        assert stable_hash(one) == stable_hash(other)


@pytest.mark.parametrize(
    "equal",
    [
        [1, 1.0, True, np.int64(1), np.float32(1), Decimal(1), Fraction(1), 1 + 0j, np.bool_(True)],
        [0, 0.0, -0.0, False, np.float64(-0.0)],
        [frozenset("abcd"), frozenset("dcba")],
        [("ab", 1), ("".join(["a", "b"]), True)],
        ["é", "\u00e9", np.str_("é")],
        [Point(1, 2.0), Point(True, 2)],
        [
            datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC),
            datetime.datetime(2024, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ],
        [float("nan"), np.float64("nan"), -float("nan")],
        ["red", Paint.RED],
        [2, Size.TWO],
        [LATE, LATE.replace(fold=1)],
        [
            datetime.datetime(1, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            datetime.datetime(1, 1, 1, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ],
        [Holiday.FIRST, datetime.date(2024, 1, 1)],
        [np.datetime64("2024-01-01", "D"), np.datetime64("2024-01-01", "ns"), np.datetime64("2024-01", "M")],
        [np.datetime64("2024-01-01", "us"), datetime.datetime(2024, 1, 1)],
        [np.timedelta64(1, "s"), np.timedelta64(1000, "ms"), datetime.timedelta(seconds=1)],
        [np.timedelta64(1, "Y"), np.timedelta64(12, "M")],
        [np.datetime64("NaT"), np.timedelta64("NaT"), float("nan")],
        [PurePosixPath("a/b"), Path("a/b")],
        [PureWindowsPath("A/b"), PureWindowsPath("a\\B")],
        [Half(), 0.5],
        [range(0, 3, 2), range(0, 4, 2)],
        [range(0), range(5, 5)],
        [range(7, 8), range(7, 9, 3)],
        [
            datetime.time(12, tzinfo=datetime.UTC),
            datetime.time(13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ],
    ],
    ids=[
        "one",
        "zero",
        "frozenset",
        "tuple",
        "text",
        "dataclass",
        "instant",
        "nan",
        "text enum",
        "int enum",
        "clock set back",
        "before the first year",
        "date enum",
        "NumPy's times",
        "NumPy's time and Python's",
        "durations",
        "months",
        "NaT",
        "paths",
        "paths of Windows",
        "number of another library",
        "ranges",
        "empty ranges",
        "single ranges",
        "time of day",
    ],
)
def test_keys_that_python_holds_equal_are_one_key(equal: list[Any]) -> None:
    assert all(key == equal[0] for key in equal) or equal[0] != equal[0]
    assert len({stable_hash(canonical(key)) for key in equal}) == 1


def test_composed_and_decomposed_letters_stay_two_keys() -> None:
    assert stable_hash("\u00e9") != stable_hash("e\u0301")


def test_text_and_bytes_and_tuples_of_the_same_letters_differ() -> None:
    assert len({stable_hash(key) for key in ("a", b"a", ("a",), frozenset("a"), Colour.RED, None, 1)}) == 7


def test_hashes_are_the_same_in_every_process() -> None:
    code = (
        "import json; from bellwren.engine.hashing import stable_hash as h;"
        "print(json.dumps([h(k) for k in ('a', b'a', 1.5, None, ('x', 2), frozenset('abc'), '\\ud800')]))"
    )
    root = str(Path(__file__).parents[3])
    seen = set()
    for salt in ("0", "1", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": root}
        seen.add(
            subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, check=True
            ).stdout
        )
    (only,) = seen
    assert len(set(json.loads(only))) == 7


def test_a_key_of_an_unknown_class_is_refused_with_the_way_out() -> None:
    class Own:
        pass

    with pytest.raises(TypeError, match=r"Own cannot be partitioned.*frozen dataclass"):
        stable_hash(Own())


@pytest.mark.parametrize(
    "key", [AnyCase("A"), Money(1), ByIdentity(1), Named("a"), (1, frozenset([AnyCase("a")]))]
)
def test_a_key_that_compares_in_a_way_of_its_own_is_refused(key: Hashable) -> None:
    """Equal ones would lie in several partitions, or those of one record never meet those of another."""
    with pytest.raises(TypeError, match="its equality is not known to be the same in every process"):
        stable_hash(key)


@given(st.integers(0, 2**64 - 1), st.integers(1, 10_000))
def test_a_partition_is_within_range_and_a_range_of_hashes(hashed: int, partitions: int) -> None:
    partition = partition_of_hash(hashed, partitions)
    assert 0 <= partition < partitions
    assert partition_of_hash(min(hashed + 1, 2**64 - 1), partitions) in (partition, partition + 1)


def test_many_keys_spread_evenly() -> None:
    counts = [0] * 8
    for number in range(20_000):
        counts[partition_of(f"key {number}", 8)] += 1
    assert max(counts) < 1.1 * min(counts)


def test_every_nan_becomes_the_one_nan_also_inside_tuples() -> None:
    first, second = canonical(float("nan")), canonical(np.float64("nan"))
    assert first is second
    assert canonical((1, float("nan"))) == canonical((1, float("nan")))
    assert canonical((1, 2.0)) == (1, 2.0)


@pytest.mark.parametrize(
    "nan",
    [np.float32("nan"), Decimal("nan"), complex(0, float("nan")), np.datetime64("NaT")],
    ids=["float32", "Decimal", "complex", "NaT"],
)
def test_a_nan_of_any_type_is_the_one_nan_also_in_named_tuples_and_sets(nan: Any) -> None:
    assert canonical(nan) is canonical(float("nan"))
    assert canonical(Pair("a", nan)) == canonical(Pair("a", float("nan")))
    assert type(canonical(Pair("a", nan))) is Pair
    assert canonical(frozenset([1, nan])) == canonical(frozenset([1, float("nan")]))
