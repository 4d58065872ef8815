"""Which records a model is fitted to: all of them while they fit into the time there is, and after a drift the recent
ones before the older.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bellwren.learning.merging import Labelled

MOST_REPEATS = 8
"""Runs of one cell (context and choice) that are kept: more say little about its median and noise."""
MOST_CONTEXTS = 400
"""Contexts that are kept. The time of a training grows with them, and it must end within Lambda's 15 minutes."""
MOST = 6000
"""Runs that are kept in all."""


def chosen(labels: Sequence[Labelled], *, since: str = "", vanished: int = 0) -> list[Labelled]:
    """The runs to learn from, in order of time.

    Args:
        labels: In order of time.
        since: ISO 8601 time at which the world changed, so that the past before it says less about the future: a cell
            that has runs since then is known by those alone. Cells without one keep what there is, since nothing better
            is known of them. Empty: all count.
        vanished: Trainings that ended without a word one after the other; each halves the bounds.
    """
    renewed = {_cell(one) for one in labels if one.started_at >= since} if since else set()
    most_contexts, most = (max(1, bound >> vanished) for bound in (MOST_CONTEXTS, MOST))
    cells: dict[tuple[object, ...], int] = defaultdict(int)
    contexts: set[str] = set()
    kept: list[Labelled] = []
    for one in reversed(labels):
        if len(kept) == most:
            break
        cell = _cell(one)
        if one.started_at < since and cell in renewed:
            continue
        if one.execution.context not in contexts and len(contexts) == most_contexts:
            continue
        if cells[cell] == MOST_REPEATS:
            continue
        contexts.add(one.execution.context)
        cells[cell] += 1
        kept.append(one)
    return kept[::-1]


def _cell(one: Labelled) -> tuple[object, ...]:
    run = one.execution
    return (run.context, *run.cell)
