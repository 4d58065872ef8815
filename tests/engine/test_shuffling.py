"""Group-by as whole jobs: what is equal is one group, however keys look; nothing is lost, nothing added.

Faults reported of comparable systems, group G: hashes that differ between processes, equal keys of different bytes,
NaN, naughty strings (the first test); skew (`one_key_with_most`, and `ninety_percent` of `test_sorting`); NaN and None
in a sort (`test_sorting`); phantom groups and falsy results; awkward text; values used twice.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bellwren
from tests.engine.counting import once, total
from tests.engine.harness import Engine, Outcome
from tests.engine.sorts import folder, run

NAN = float("nan")


EQUAL_KEYS = [
    *(1, 1.0, True, 0, 0.0, -0.0, False),
    *(frozenset("abcd"), frozenset("dcba"), ("ab", "ab"), ("ab", "".join(["a", "b"]))),
    *(None, None, (1, None), (1.0, None), "1", b"1", datetime.date(2024, 1, 1)),
]
AWKWARD_PAIRS = [
    *(("a\tb", "1"), ("", "2"), ("c", "x\ny"), ("d", "trail  "), ("e\x00", "z")),
    *(("\ud800", "lone surrogate"), ("é", "composed"), ("e\u0301", "decomposed")),
]


def test_every_kind_of_key_is_one_group_in_every_process(engine: Engine, shared_data: Path) -> None:
    """Equal keys together, NaNs together, the naughty strings (511 of 515) each for itself; no key names an object."""
    strings = json.loads((shared_data / "naughty" / "blns.json").read_text("utf-8"))
    nans = [NAN, float("nan"), -NAN, (NAN, 1), (float("nan"), 1)]
    outcome = engine.map_reduce(once, [*EQUAL_KEYS * 20, *strings, *nans], total, total, workers=3)
    found = outcome.result()
    with_nan = [key for key in found if isinstance(key, float | tuple) and "nan" in str(key)]
    assert sorted(found.pop(key) for key in with_nan) == [2, 3]
    assert found == Counter([*EQUAL_KEYS * 20, *strings])
    assert len(list(outcome.store.list(f"jobs/{outcome.job_id}/results/"))) == 3


def test_text_keys_and_values_come_back_as_they_were(engine: Engine) -> None:
    outcome = engine.map_reduce(
        lambda pair: [pair], AWKWARD_PAIRS * 2, lambda _, values: list(values), workers=2
    )
    assert outcome.result() == {key: [value] * 2 for key, value in AWKWARD_PAIRS}


def test_values_come_in_item_order_however_tasks_end(engine: Engine) -> None:
    def pairs(item: tuple[int, str]) -> Iterator[tuple[str, Any]]:
        yield "text", item[1]
        yield "numbers", [1e16, 1.0, -1e16, 1.0][item[0] % 4]

    def reduced(key: str, values: Iterator[Any]) -> Any:
        return "".join(values) if key == "text" else sum(values)

    items = list(enumerate("hello, world! " * 20))
    numbers = 0.0
    for at, _ in items:
        numbers += [1e16, 1.0, -1e16, 1.0][at % 4]
    found = engine.map_reduce(pairs, items, reduced, workers=3).result()
    assert found == {"text": "hello, world! " * 20, "numbers": numbers}


def test_only_what_was_reduced_is_in_the_result_and_falsy_values_stay(engine: Engine) -> None:
    falsy = {0: 0, 1: "", 2: None, 3: [], 4: False, 5: {}}
    found = engine.map_reduce(
        lambda x: [(x % 6, x)], range(60), lambda key, _: falsy[key], workers=2
    ).result()
    assert found == falsy
    assert [type(found[key]) for key in range(6)] == [type(value) for value in falsy.values()]
    assert engine.map_reduce(lambda _: [], [1, 2], total).result() == {}


def test_the_values_of_a_reduce_can_be_read_once(engine: Engine) -> None:
    outcome = engine.map_reduce(
        lambda x: [("k", x)], range(1_000), lambda _, values: (len(list(values)), sum(values)), workers=2
    )
    assert outcome.result() == {"k": (1_000, 0)}


def test_values_that_a_reduce_leaves_unread_are_no_part_of_the_next_key(engine: Engine) -> None:
    outcome = engine.map_reduce(
        lambda x: [(x % 50, x)], range(500), lambda _, values: next(values), workers=2
    )
    assert outcome.result() == {key: key for key in range(50)}


@pytest.mark.parametrize(
    ("emitted", "said"),
    [
        ([([1], 2)], "use a tuple for a list"),
        ([({"a": 1}, 2)], "cannot be hashed"),
        ([(object, 2)], "a key of type type cannot be partitioned"),
        ([1], "must give (key, value) pairs"),
    ],
    ids=["list", "dict", "class", "no-pair"],
)
def test_keys_that_cannot_be_grouped_fail_their_items_by_name(
    engine: Engine, emitted: Any, said: str
) -> None:
    outcome = engine.map_reduce(
        lambda x: emitted if x == 3 else [(x, x)], range(6), total, tolerate=0.2, workers=1
    )
    assert outcome.result() == {x: x for x in range(6) if x != 3}
    assert said in outcome.failures[3][1]


def test_the_naughty_strings_are_items_like_any_other(engine: Engine, shared_data: Path) -> None:
    strings = json.loads((shared_data / "naughty" / "blns.json").read_text("utf-8"))
    assert engine.map(str.upper, strings, workers=1).result() == [text.upper() for text in strings]
    assert run(engine, kind="sort", items=strings, workers=1).result() == sorted(strings)


def test_one_key_with_most_of_the_records_streams_through_little_memory(engine: Engine) -> None:
    """60 MB of values for one key, with 96 MB for the runner."""

    def pairs(x: int) -> Iterator[tuple[str, bytes]]:
        for n in range(100):
            yield ("hot" if n < 90 else f"cold {x % 7}"), b"%08d" % (100 * x + n) + bytes(992)

    def reduced(_: str, values: Iterator[bytes]) -> tuple[int, int, bool]:
        count = size = 0
        in_order, last = True, b""
        for value in values:
            count, size = count + 1, size + len(value)
            in_order, last = in_order and last < value, value
        return count, size, in_order

    outcome = engine.map_reduce(pairs, range(600), reduced, workers=1, memory_mb=192)
    found = outcome.result()
    assert found["hot"] == (54_000, 54_000_000, True)
    assert len(found) == 8
    assert all(in_order for _, _, in_order in found.values())
    _, reduce_stage = outcome.record["stages"]
    assert reduce_stage["bytes_in"] > 60_000_000
    assert reduce_stage["peak_mb"] < 192


def test_a_combiner_keeps_a_skewed_shuffle_small(engine: Engine) -> None:
    def pairs(_: int) -> list[tuple[int, int]]:
        return [(5 if n % 10 else n % 100, 1) for n in range(1_000)]

    plain = engine.map_reduce(pairs, range(100), total, workers=2)
    combined = engine.map_reduce(pairs, range(100), total, total, workers=2)
    assert combined.result() == plain.result()
    assert sum(plain.result().values()) == 100_000
    sizes = [outcome.record["stages"][1]["bytes_in"] for outcome in (plain, combined)]
    assert sizes[1] < sizes[0] / 5


def test_a_combine_function_that_raises_fails_the_job_by_its_key(engine: Engine) -> None:
    """Not the record at which it happened to be called, and not the runner."""

    def combine(key: int, values: Iterator[int]) -> int:
        if key == 7:
            raise OSError("no such seven")
        return sum(values)

    outcome = engine.map_reduce(
        lambda x: [(7, x), (7, x)], range(20), total, combine, workers=1, tolerate=1.0
    )
    assert outcome.status["status"] == "FAILED"
    assert (
        "combine function raised OSError: no such seven, for the key 7" in outcome.status["error"]["message"]
    )
    assert outcome.record["lost_runners"] == 0


# -- Parquet ---------------------------------------------------------------------------------------------------------


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The rows as any other reader of Parquet sees them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    keys = [entry.key for entry in outcome.store.list(f"jobs/{outcome.job_id}/results/")]
    assert all(key.endswith(".parquet") for key in keys)
    tables = [parquet.read_table(arrow.BufferReader(outcome.store.get(key))) for key in keys]
    return [row for table in tables for row in table.to_pylist()]


def test_dicts_of_a_map_become_rows_of_parquet(engine: Engine) -> None:
    when = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)

    def row(x: int) -> dict[str, Any]:
        if x == 7:
            raise ValueError("seven")
        made: dict[str, Any] = {"x": x, "half": x / 2, "text": f"t{x}", "when": when, "raw": b"\x00\xff"}
        return made if x % 2 else {**made, "tags": ["a", "b"], "inner": {"n": x}}

    outcome = engine.map(row, range(20), output={"format": "parquet"}, tolerate=0.1, workers=2)
    found = outcome.result()
    assert found[7].type == "ValueError"
    assert found[7].index == 7
    for x in (0, 1, 19):
        assert {name: value for name, value in found[x].items() if value is not None} == row(x)
    assert [row.get("x") for row in rows_of(outcome)] == [None if x == 7 else x for x in range(20)]


def test_keys_and_values_of_a_reduce_become_rows_of_parquet(engine: Engine) -> None:
    outcome = engine.map_reduce(
        lambda x: [(("k", str(x % 5)), x)], range(100), total, output={"format": "parquet"}, workers=2
    )
    expected = {("k", str(key)): sum(range(key, 100, 5)) for key in range(5)}
    assert outcome.result() == expected
    assert {tuple(row["key"]): row["value"] for row in rows_of(outcome)} == expected


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x, "the result is a int, and a Parquet row must be a dict"),
        (lambda x: {1: x}, "a dict with keys that are no texts"),
    ],
    ids=["int", "int-keys"],
)
def test_a_result_that_is_no_row_fails_its_item(
    engine: Engine, function: Callable[[int], Any], said: str
) -> None:
    outcome = engine.map(function, [1, 2], output={"format": "parquet"}, workers=1)
    assert outcome.status["status"] == "FAILED"
    assert said in outcome.failures[0][1]


def test_a_column_of_several_types_fails_the_job_by_its_name(engine: Engine) -> None:
    outcome = engine.map(
        lambda x: {"a": x if x % 2 else "text"}, range(64), output={"format": "parquet"}, workers=1
    )
    assert outcome.status["status"] == "FAILED"
    assert "the column 'a' has values of type int, str" in outcome.status["error"]["message"]


def test_csv_rows_go_through_a_job_into_parquet(engine: Engine) -> None:
    source = folder(engine, b"city,people\nOslo,700000\nBergen,290000\n", b"city,people\nTromso,77000\n")
    outcome = engine.map(
        lambda row: {"city": row["city"], "people": int(row["people"])},
        bellwren.csv(source),
        output={"format": "parquet"},
    )
    assert [(row["city"], row["people"]) for row in rows_of(outcome)] == [
        ("Oslo", 700000),
        ("Bergen", 290000),
        ("Tromso", 77000),
    ]


def test_grouping_is_that_of_a_dict_for_rows_of_any_shape(engine: Engine) -> None:
    items = [(n * 7919 % 13, n % 4 or None, bool(n % 2)) for n in range(300)]
    expected: dict[Any, list[int]] = defaultdict(list)
    for number, key in enumerate(items):
        expected[key].append(number)
    outcome = engine.map_reduce(
        lambda pair: [(pair[1], pair[0])], list(enumerate(items)), lambda _, values: list(values), workers=3
    )
    assert outcome.result() == expected
