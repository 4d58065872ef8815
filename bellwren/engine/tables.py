"""Results as Parquet: a row for each, which must be a dict; a failed item is a row in which only the failure stands.

A Parquet part is one table, so nothing leaves before its task ends. Where a task has to pause, the table of what there
is goes out, and the next runner builds on it. pyarrow is an extra, on workers and clients.
"""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from bellwren import framing
from bellwren.algorithms.functions import Functions
from bellwren.engine.channel import Channel, Paused
from bellwren.engine.operations import Operation, Task
from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Kind
from bellwren.payload.codecs import decode
from bellwren.payload.failure import decode_failure

FAILURE_COLUMN = "bellwren_failure"
"""Holds what is told of a failed item, as JSON; there only where an item has failed, or no row has any column."""


class Collected:
    """Takes the place of a channel and keeps the results."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.encoded: list[bytes] = []
        self.failures: list[dict[str, Any]] = []
        self.consumed = 0
        self.count = 0

    def at(self, position: int) -> None:
        """Note which position comes next."""
        self._channel.at(position)

    def result(self, encoded: bytes, failure: dict[str, Any] | None = None, *, results: int = 1) -> None:
        """Keep what one position gave."""
        self.encoded.append(encoded)
        self.consumed += 1
        self.count += results
        if failure:
            self.failures.append(failure)

    def results(self, encoded: bytes, count: int) -> None:
        """Keep what ``count`` positions gave, joined."""
        self.encoded.append(encoded)
        self.consumed += count
        self.count += count

    def ask(self, wanted: dict[str, Any]) -> list[memoryview]:
        """Ask the supervisor for ranges of bytes."""
        return self._channel.ask(wanted)

    def done(self) -> None:
        """The table is made when the operation has returned."""


def run(operation: Operation, task: Task, functions: Functions, channel: Channel) -> None:
    """Run an operation whose results, one by one, become one table.

    Raises:
        InputError: if pyarrow is not there, or a column's values are of several types.
    """
    _arrow()
    before = list(read_rows(bytes(task.base), name="the rows so far")) if task.base else []
    collected = Collected(channel)
    end: dict[str, Any] = {}
    try:
        operation(task, functions, cast(Channel, collected))
    except Paused as paused:
        end = {"paused": paused.position}
    rows = [*before, *_decoded(collected.encoded, collected.count)]
    told = {"consumed": collected.consumed, "count": collected.count, "failures": collected.failures}
    channel.done({"shuffled": True, **told, **end}, write_rows(rows))


def as_row(value: Any) -> dict[str, Any]:
    """A result, if it can be a row.

    Raises:
        TypeError: if it is no dict with texts as keys.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        if FAILURE_COLUMN in value:
            raise TypeError(
                f"the column name {FAILURE_COLUMN!r} is taken: failed items are told there; use another"
            )
        return value
    found = "a dict with keys that are no texts" if isinstance(value, dict) else f"a {type(value).__name__}"
    raise TypeError(
        f"the result is {found}, and a Parquet row must be a dict from column name to value; return one, or use the "
        'output format "jsonl" or "pickle"'
    )


def write_rows(rows: Sequence[dict[str, Any] | TaskFailure]) -> bytes:
    """A Parquet object; columns are all keys that there are, in the order in which they come up.

    Raises:
        InputError: naming the column whose values are of types that Parquet can't hold together.
    """
    arrow, parquet = _arrow()
    names = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    columns = {name: _column(arrow, name, rows) for name in names}
    if not columns or any(isinstance(row, TaskFailure) for row in rows):
        told = [json.dumps(row.as_dict()) if isinstance(row, TaskFailure) else None for row in rows]
        columns[FAILURE_COLUMN] = arrow.array(told, arrow.string())
    target = io.BytesIO()
    try:
        parquet.write_table(arrow.table(columns), target)
    except (
        arrow.ArrowException,
        UnicodeError,
    ) as error:  # such as an empty dict, which has no columns of its own
        raise InputError(f"Parquet can't hold these results ({error}); {_OTHER_FORMATS}") from error
    return target.getvalue()


def read_rows(data: bytes, *, name: str) -> Iterator[dict[str, Any] | TaskFailure]:
    """The rows of a Parquet object that ``write_rows`` made.

    Raises:
        InputError: naming the object, if it is damaged or pyarrow is not there.
    """
    arrow, parquet = _arrow()
    try:
        rows: list[dict[str, Any]] = parquet.read_table(io.BytesIO(data)).to_pylist()
    except arrow.ArrowInvalid as error:
        raise InputError(f"{name} is no Parquet object: {error}") from error
    for row in rows:
        told = row.pop(FAILURE_COLUMN, None)
        yield TaskFailure(**json.loads(told)) if told else row


def _column(arrow: Any, name: str, rows: Sequence[dict[str, Any] | TaskFailure]) -> Any:
    values = [row.get(name) if isinstance(row, dict) else None for row in rows]
    try:
        _refuse_mixture(values)
        return arrow.array(values)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        types = ", ".join(sorted({type(value).__name__ for value in values if value is not None}))
        raise InputError(
            f"the column {name!r} has values of type {types}, which one Parquet column can't hold ({error}); give it "
            f"values of one type, {_OTHER_FORMATS}"
        ) from error


def _refuse_mixture(values: Sequence[Any]) -> None:
    """Raise ValueError where pyarrow would make one type of several: a day of a time, bytes of a text."""
    if len(kinds := set(map(_kind, values)) - {""}) > 1:
        raise ValueError(f"{' and '.join(sorted(kinds))} would become one type")


def _kind(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return "times without a zone" if value.tzinfo is None else "times of a zone"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "")


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "truth values"),
    (int, "numbers"),
    (float, "numbers"),
    (str, "texts"),
    (bytes, "bytes"),
    (datetime.date, "dates"),
)
_OTHER_FORMATS = 'or use the output format "jsonl" or "pickle"'


def _decoded(encoded: Sequence[bytes], count: int) -> Iterator[dict[str, Any] | TaskFailure]:
    data = b"".join(encoded)
    for frame in framing.read_span(data, count, name="the task's results"):
        yield decode_failure(frame.data)[0] if frame.kind is Kind.FAILURE else decode(frame, "pickle")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415  an extra
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            "Parquet needs the package pyarrow: on workers, name it in `requirements` or in the deployment's "
            "worker-extra.txt; for reading results here, pip install 'bellwren[parquet]'"
        ) from error
    return pyarrow, pyarrow.parquet
