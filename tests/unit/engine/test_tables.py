"""Results as one table: rows, failures, and tables that are made in two goes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.algorithms.functions import Functions
from bellwren.engine import tables
from bellwren.engine.channel import Paused
from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.parts import encode_result, read_part
from bellwren.payload.codecs import PROTOCOL
from bellwren.payload.failure import failure_frame

pytest.importorskip("pyarrow")

FAILURE = TaskFailure(3, "ValueError", "no", "trace", "item")


def read(data: bytes) -> list[Any]:
    return list(read_part("parquet", data))


columns = {
    "text": st.text(st.characters(codec="utf-8"), max_size=5),
    "number": st.integers(-(2**63), 2**63 - 1),
    "fraction": st.floats(allow_nan=False),
    "raw": st.binary(max_size=5),
    "tags": st.lists(st.booleans(), max_size=3),
    "when": st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)),
}


@given(
    st.lists(st.fixed_dictionaries({}, optional={n: v | st.none() for n, v in columns.items()}), max_size=9)
)
def test_rows_come_back_with_none_where_a_column_was_missing(rows: list[dict[str, Any]]) -> None:
    names = {name for row in rows for name in row}
    expected = [{name: row.get(name) for name in names} for row in rows]
    found = read(tables.write_rows(rows))
    assert found == expected


def test_a_failure_stands_in_its_place() -> None:
    found = read(tables.write_rows([{"a": 1}, FAILURE, {"a": Decimal("2.50")}][:2]))
    assert found == [{"a": 1}, FAILURE]
    assert read(tables.write_rows([FAILURE])) == [FAILURE]


NAIVE, AWARE = datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 5, tzinfo=datetime.UTC)
LOSSY = [["a", b"b"], [1.5, True], [1, True], [datetime.date(2024, 1, 1), NAIVE], [NAIVE, AWARE]]
"""pyarrow makes one type of these: bytes of a text, a day of a time."""


@pytest.mark.parametrize(
    "values",
    [
        [1, "x"],
        [[1], 2],
        [{"a": 1}, {"a": "x"}],
        [2**70, 1],
        ["\ud800"],
        [{1, 2}, {1: 2}],
        *LOSSY,
        *map(reversed, LOSSY),
    ],
)
def test_a_column_that_parquet_cannot_hold_is_named(values: list[Any]) -> None:
    with pytest.raises(InputError, match="the column 'bad' has values of type"):
        tables.write_rows([{"good": 1, "bad": value} for value in values])


@pytest.mark.parametrize("row", [{"bad": {}}, {"\ud800": 1}], ids=["no-fields", "no-name"])
def test_what_parquet_cannot_write_is_an_error_of_the_results(row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Parquet can't hold these results"):
        tables.write_rows([row])


def test_a_column_of_the_users_does_not_pass_for_failures() -> None:
    with pytest.raises(TypeError, match="'bellwren_failure' is taken"):
        tables.as_row({"bellwren_failure": "x"})


def test_what_is_no_parquet_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="part-7 is no Parquet object"):
        list(read_part("parquet", b"PAR1 but no", name="part-7"))


@pytest.mark.parametrize("value", [1, None, [("a", 1)], {1: 2}, "text"])
def test_only_dicts_with_text_keys_are_rows(value: Any) -> None:
    with pytest.raises(TypeError, match="a Parquet row must be a dict"):
        tables.as_row(value)


class Line:
    """Takes the place of a runner's channel; asks for a pause before one position."""

    def __init__(self, pause_at: int | None) -> None:
        self.pause_at = pause_at
        self.sent: list[tuple[dict[str, Any], bytes]] = []

    def at(self, position: int) -> None:
        if position == self.pause_at:
            raise Paused(position)

    def done(self, head: dict[str, Any], *body: bytes) -> None:
        self.sent.append((head, b"".join(body)))


def emitting(make: Callable[[int], Any], count: int) -> tables.Operation:
    def operation(task: Any, functions: Functions, channel: Any) -> None:
        for position in range(task.start, count):
            channel.at(position)
            made = make(position)
            told = made.as_dict() if isinstance(made, TaskFailure) else None
            channel.result(encode_result("parquet", framed(made)), told)
        channel.done()

    return operation


def framed(value: Any) -> Frame:
    import pickle

    if isinstance(value, TaskFailure):
        return failure_frame(value)
    return Frame(Kind.VALUE, pickle.dumps(value, PROTOCOL))


def run(
    operation: tables.Operation, start: int, base: bytes, pause_at: int | None
) -> tuple[dict[str, Any], bytes]:
    line: Any = Line(pause_at)
    task: Any = SimpleNamespace(start=start, base=memoryview(base))
    tables.run(operation, task, Functions(), line)
    (sent,) = line.sent
    return sent


def test_a_table_that_had_to_pause_goes_on_with_what_there_is() -> None:
    operation = emitting(lambda x: FAILURE if x == 3 else {"x": x}, 10)
    told, half = run(operation, 0, b"", 6)
    assert (told["consumed"], told["paused"], len(told["failures"])) == (6, 6, 1)
    assert read(half)[3] == FAILURE
    told, whole = run(operation, 6, half, None)
    assert (told["consumed"], told["failures"], "paused" in told) == (4, [], False)
    assert read(whole) == [FAILURE if x == 3 else {"x": x} for x in range(10)]
