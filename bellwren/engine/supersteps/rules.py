"""The rules of supersteps, as pure functions: when a job ends, when a checkpoint is due, how long to wait."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

Verdict = Literal["go", "halted", "max_supersteps", "failed"]

_FIRST_PAUSE_S = 0.003
_LAST_PAUSE_S = 0.25
_PAUSE_SHARE = 0.1
_EARLY_SHARE = 0.7
_SHOWN = 50


def verdict(headers: Iterable[Mapping[str, Any]], superstep: int, max_supersteps: int) -> Verdict:
    """What follows from a superstep that is complete: everybody reads the same headers and comes to the same answer."""
    headers = list(headers)
    if any(header["failures"] for header in headers):
        return "failed"
    if not any(header["active"] or header["sent"] for header in headers):
        return "halted"
    return "max_supersteps" if superstep + 1 >= max_supersteps else "go"


def checkpoint_due(since_s: float, cost_s: float | None, *, share: float = 0.1, floor_s: float = 1.0) -> bool:
    """Whether the next superstep should be saved: ``since_s`` after the last one, which took ``cost_s``.

    Checkpoints take a tenth of the time, and what a loss costs to do again is at most ten times a checkpoint or a
    second, whichever is more.
    """
    return since_s >= max(floor_s, (cost_s or 0.0) / share)


def pause_s(waited_s: float) -> float:
    """How long to wait before the next look at a barrier: a tenth of the time waited, within bounds."""
    return min(_LAST_PAUSE_S, max(_FIRST_PAUSE_S, waited_s * _PAUSE_SHARE))


def first_look_s(waits_s: Collection[float]) -> float:
    """How long to wait before the first look: most of the shortest of the last waits, since earlier looks are in vain.

    They cost requests, and where all share one machine they hold up those that are waited for.
    """
    return min(_LAST_PAUSE_S, _EARLY_SHARE * min(waits_s, default=0.0))


def outline(entries: Sequence[Mapping[str, Any]], most: int = _SHOWN) -> list[dict[str, Any]]:
    """The aggregates of ``most`` supersteps for the status: of a longer history evenly chosen ones, and the last."""
    last = len(entries) - 1
    chosen = range(last + 1) if last < most else (place * last // (most - 1) for place in range(most))
    return [{name: entries[place][name] for name in ("superstep", "aggregates")} for place in chosen]
