"""Source lines of functions that travelled by value, so that a worker's tracebacks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_pieces: dict[str, list[tuple[int, Sequence[str]]]] = {}


def remember(lines: Mapping[str, Sequence[tuple[int, Sequence[str]]]]) -> None:
    """Keep lines by file: (number of the first, lines)."""
    for file, pieces in lines.items():
        _pieces.setdefault(file, []).extend(pieces)


def publish() -> None:
    """Give the lines to `linecache`, where tracebacks look; called when there is one to format."""
    import linecache  # noqa: PLC0415 - most tasks have no traceback

    for file, pieces in _pieces.items():
        known = linecache.getlines(file)
        size = max([len(known), *(first - 1 + len(text) for first, text in pieces)])
        text = known + ["\n"] * (size - len(known))
        for first, piece in pieces:
            text[first - 1 : first - 1 + len(piece)] = piece
        linecache.cache[file] = (sum(map(len, text)), None, text, file)
    _pieces.clear()
