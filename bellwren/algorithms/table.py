"""Records as a matrix of numbers, for the algorithms that compute with rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]


def matrix(records: Iterable[Any]) -> Matrix:
    """Rows × columns. A record is a row of CSV or Parquet, or a line of numbers between commas or blanks.

    Empty lines are left out.

    Raises:
        ValueError: naming the record that is no row of finite numbers, or has another number of columns.
    """
    import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that compute with it

    rows: list[list[float]] = []
    for record in records:
        fields = _fields(record)
        if not fields:
            continue
        try:
            row = [float(field) for field in fields]
        except (TypeError, ValueError):
            raise ValueError(f"every column must be a number; found the row {record!r:.200}") from None
        if rows and len(row) != len(rows[0]):
            raise ValueError(
                f"every row must have {len(rows[0])} columns, as the first has; found {record!r:.200}"
            )
        rows.append(row)
    found = np.array(rows, dtype=np.float64) if rows else np.empty((0, 0))
    if not np.isfinite(found).all():
        bad = rows[int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])]
        raise ValueError(f"every number must be finite; found the row {bad!r:.200}")
    return found


def widened(rows: Matrix, columns: int) -> Matrix:
    """The matrix of a partition that has no rows, with the columns that the others have.

    Raises:
        ValueError: if a partition with rows has another number of columns.
    """
    import numpy as np  # noqa: PLC0415

    if len(rows) and rows.shape[1] != columns:
        raise ValueError(f"every row must have {columns} columns; here are rows of {rows.shape[1]}")
    return rows if len(rows) else np.empty((0, columns))


def _fields(record: Any) -> list[Any]:
    if isinstance(record, str):
        return record.replace(",", " ").split()
    return list(record.values() if isinstance(record, Mapping) else record)
