"""How parameters are cut into slices: neighbouring rows of arrays, of nearly equal size. Pure functions.

A slice is what one object holds and one push replaces, so pushes to different slices do not meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SLICE_BYTES = 256 << 10
"""Parameters of up to so many bytes are one slice."""
MOST_SLICES = 64


@dataclass(frozen=True)
class Shape:
    """One array as it is cut: ``rows`` of ``row_bytes`` each; what has no dimensions is one row."""

    rows: int
    row_bytes: int


Block = tuple[str, int, int]
"""Name of an array, its first row here, and the one behind its last."""


def slice_count(total_bytes: int) -> int:
    """Slices of which each has about ``SLICE_BYTES``, up to ``MOST_SLICES``."""
    return max(1, min(MOST_SLICES, -(-total_bytes // SLICE_BYTES)))


def cut(shapes: Mapping[str, Shape], slices: int) -> list[list[Block]]:
    """The blocks of each slice; every row of every array lies in one. Fewer slices, if there are not enough rows."""
    total = sum(shape.rows * shape.row_bytes for shape in shapes.values())
    share = total / slices
    made: list[list[Block]] = [[]]
    before = 0
    for name, shape in shapes.items():
        row = 0
        while row < shape.rows or (not shape.rows and not row):
            if made[-1] and len(made) < slices and before >= share * len(made):
                made.append([])
            room = share * len(made) - before if len(made) < slices else total
            fitting = shape.rows - row if not shape.row_bytes else -int(-room // shape.row_bytes)
            stop = min(shape.rows, row + max(1, fitting))
            made[-1].append((name, row, stop))
            before += (stop - row) * shape.row_bytes
            row = max(stop, row + 1)
    return made
