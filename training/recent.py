"""Which records a model is fitted to: all of them while they fit into the time there is, and after a drift the recent
ones before the older.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bellwren.learning.calibration import WINDOW
from bellwren.learning.merging import Labelled

MOST_REPEATS = 8
"""Runs of one cell (context and choice) that are kept: more say little about its median and noise."""
MOST_CONTEXTS = 400
"""Contexts that are kept. The time of a training grows with them, and it must end within Lambda's 15 minutes."""
MOST = 6000
"""Runs that are kept in all."""


def chosen(labels: Sequence[Labelled], *, drifted: bool) -> list[Labelled]:
    """The runs to learn from, in order of time.

    Args:
        labels: In order of time.
        drifted: The last forecasts were beyond their band, so the past says less about the future: a cell that has
            recent runs (among the last `WINDOW`) is known by those alone. Cells without one keep what there is, since
            nothing better is known of them.
    """
    known = _without_superseded(labels) if drifted else list(labels)
    cells: dict[tuple[object, ...], int] = defaultdict(int)
    contexts: set[str] = set()
    kept: list[Labelled] = []
    for one in reversed(known):
        run = one.parsed.label.execution
        cell = (run.context, *run.cell)
        if run.context not in contexts and len(contexts) == MOST_CONTEXTS:
            continue
        if cells[cell] == MOST_REPEATS or len(kept) == MOST:
            continue
        contexts.add(run.context)
        cells[cell] += 1
        kept.append(one)
    return kept[::-1]


def _without_superseded(labels: Sequence[Labelled]) -> list[Labelled]:
    recent = labels[-WINDOW:]
    renewed = {_cell(one) for one in recent}
    return [one for one in labels[:-WINDOW] if _cell(one) not in renewed] + list(recent)


def _cell(one: Labelled) -> tuple[object, ...]:
    run = one.parsed.label.execution
    return (run.context, *run.cell)
