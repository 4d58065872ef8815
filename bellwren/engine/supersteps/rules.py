"""The rules of supersteps, as pure functions: when a job ends, when a checkpoint is due, how long to wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

Verdict = Literal["go", "halted", "max_supersteps", "failed"]

_FIRST_PAUSE_S = 0.004
_LAST_PAUSE_S = 0.25
_PAUSE_SHARE = 0.1
_LATER, _LATER_S = 1.1, 0.002
_EARLIER, _MOST_EARLIER = 0.03, 0.5
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


class FirstLook:
    """When it is worth it to look at a barrier for the first time: learnt from whether the last first looks were early.

    A look in vain costs a request, and where all share one machine it holds up those that are waited for; one that
    comes late costs time. So about every third is in vain: after such a one the next comes a little later, so that a
    single slow superstep changes little, and after those that were not the next come earlier, the faster the more of
    them there were.
    """

    def __init__(self) -> None:
        self.after_s = 0.0
        """How long to wait before it."""
        self._late = 0

    def learn(self, *, in_vain: bool) -> None:
        """Take in whether the last one was early."""
        if in_vain:
            self._late = 0
            self.after_s = min(_LAST_PAUSE_S, self.after_s * _LATER + _LATER_S)
        else:
            self.after_s *= 1 - min(_MOST_EARLIER, _EARLIER * 2**self._late)
            self._late += 1


def outline(entries: Sequence[Mapping[str, Any]], most: int = _SHOWN) -> list[dict[str, Any]]:
    """The aggregates of ``most`` supersteps for the status: of a longer history evenly chosen ones, and the last."""
    last = len(entries) - 1
    chosen = range(last + 1) if last < most else (place * last // (most - 1) for place in range(most))
    return [{name: entries[place][name] for name in ("superstep", "aggregates")} for place in chosen]
