"""Where the row groups and columns of a Parquet object lie, read from its footer without pyarrow.

Planning and fetching need a few numbers of the footer, which is a Thrift "compact protocol" structure
(parquet.thrift and thrift-compact-protocol.md of the Apache projects); decoding values is pyarrow's, in the runner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bellwren.errors import InputError

TAIL_BYTES = 1 << 16
"""Bytes to read from the end of an object: most footers fit."""
MAGIC = b"PAR1"

_CLOSING_BYTES = 8
_PADDING_BYTES = (
    100  # old parquet-mr understates a dictionary page (PARQUET-816); readers take this much more
)
_MAX_DEPTH = 32


@dataclass(frozen=True)
class Column:
    """One column of one row group."""

    path: tuple[str, ...]
    """Names from the top of the schema down."""
    start: int
    """First byte in the object."""
    end: int

    def chosen_by(self, columns: Sequence[str] | None) -> bool:
        """Whether a projection to ``columns`` (dotted paths) reads it."""
        if columns is None:
            return True
        dotted = ".".join(self.path)
        return any(dotted == column or dotted.startswith(column + ".") for column in columns)


@dataclass(frozen=True)
class RowGroup:
    """Rows that are stored together."""

    rows: int
    columns: tuple[Column, ...]

    def size(self, columns: Sequence[str] | None) -> int:
        """Bytes that a projection reads."""
        return sum(column.end - column.start for column in self.columns if column.chosen_by(columns))


def footer_length(tail: bytes, name: str) -> int:
    """Bytes of the footer with its length and mark, from the last bytes (at least 8) of the object.

    Raises:
        InputError: if this is no Parquet object.
    """
    if len(tail) < _CLOSING_BYTES or not tail.endswith(MAGIC):
        what = "an encrypted Parquet object" if tail.endswith(b"PARE") else "no Parquet object"
        raise InputError(f"{name}: this is {what}: it ends with {tail[-4:]!r} and not with {MAGIC!r}")
    return int.from_bytes(tail[-_CLOSING_BYTES:-4], "little") + _CLOSING_BYTES


def row_groups(footer: bytes, name: str, columns: Sequence[str] | None) -> tuple[RowGroup, ...]:
    """The row groups named in a whole footer.

    Raises:
        InputError: if the footer is damaged, or has none of one of ``columns``.
    """
    try:
        metadata = _Thrift(footer).struct()
        groups = tuple(
            RowGroup(group[3], tuple(_column(chunk[3]) for chunk in group[1])) for group in metadata[4]
        )
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: its Parquet footer is damaged ({error!r})") from error
    paths = {column.path for group in groups for column in group.columns}
    for wanted in columns or ():
        if groups and not any(Column(path, 0, 0).chosen_by([wanted]) for path in paths):
            have = ", ".join(sorted({path[0] for path in paths}))
            raise InputError(f"{name}: has no column {wanted!r}; it has {have}")
    return groups


def ranges(groups: Sequence[RowGroup], columns: Sequence[str] | None, limit: int) -> list[tuple[int, int]]:
    """The byte ranges of some row groups, in order, neighbours joined; none goes beyond ``limit``."""
    wanted = sorted(
        (column.start, min(column.end + _PADDING_BYTES, limit))
        for group in groups
        for column in group.columns
        if column.chosen_by(columns)
    )
    joined: list[tuple[int, int]] = []
    for start, end in wanted:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _column(meta: dict[int, Any]) -> Column:
    dictionary = meta.get(11) or meta[9]  # 0 stands for "none" in some writers' files
    start = min(dictionary, meta[9])
    return Column(tuple(part.decode("utf-8") for part in meta[3]), start, start + meta[7])


class _Thrift:
    """Reads one compact-protocol structure into dicts by field number; field names are not in the data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError("structures nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 0x0F
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 != 15 else self._varint()
            return [
                self.struct(depth + 1) if head & 0x0F == 12 else self._value(head & 0x0F, depth + 1)
                for _ in range(count)
            ]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"unknown type {kind} at byte {self._at}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        if length > len(self._data) - self._at:
            raise ValueError(f"a value of {length} bytes at byte {self._at}")
        self._at += length
        return self._data[self._at - length : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
