"""The choice rule: the cheapest candidate whose 95 % quantile keeps the deadline and the budget.

The deadline is held against the quantile, not the median: half of all jobs are slower than their median (Will et al.,
"C3O" 2020, pick by the error's quantile for the same reason). Pure: numbers in, a choice and a sentence out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Objective = Literal["cost", "time"]


class Candidate(NamedTuple):
    """What one (workers, memory) is forecast to take."""

    workers: int
    memory_mb: int
    runtime_s: float
    runtime_p95_s: float
    cost_usd: float
    """At the forecast runtime."""
    cost_p95_usd: float
    """At the 95 % quantile: what a budget is held against."""
    extrapolated: bool = False


@dataclass(frozen=True)
class Choice:
    """The candidate taken, and why."""

    candidate: Candidate
    meets_deadline: bool
    meets_budget: bool
    reason: str
    """One sentence."""


def meets(candidate: Candidate, deadline_s: float | None) -> bool:
    """Whether the candidate keeps the deadline in 95 of 100 runs."""
    return deadline_s is None or candidate.runtime_p95_s <= deadline_s


def affordable(candidate: Candidate, budget_usd: float | None) -> bool:
    """Whether the candidate stays within the budget in 95 of 100 runs."""
    return budget_usd is None or candidate.cost_p95_usd <= budget_usd


def choose(
    candidates: Sequence[Candidate],
    *,
    deadline_s: float | None = None,
    budget_usd: float | None = None,
    objective: Objective = "cost",
) -> Choice:
    """Take the cheapest (or, for the objective time, the fastest) candidate that keeps deadline and budget.

    If none keeps both, the fastest within the budget; if none is within the budget, the fastest of all. Where
    candidates lie within what the models know, those outside are not looked at. Raises ValueError without candidates.
    """
    if not candidates:
        raise ValueError("no candidate to choose from")
    known = [candidate for candidate in candidates if not candidate.extrapolated] or list(candidates)
    choice = _among(known, deadline_s, budget_usd, objective)
    if len(known) < len(candidates) and not (choice.meets_deadline and choice.meets_budget):
        wider = _among(candidates, deadline_s, budget_usd, objective)
        if wider.meets_deadline and wider.meets_budget:
            return wider
    return choice


def _among(
    candidates: Sequence[Candidate], deadline_s: float | None, budget_usd: float | None, objective: Objective
) -> Choice:
    good = [c for c in candidates if meets(c, deadline_s) and affordable(c, budget_usd)]
    if good:
        chosen = min(good, key=_by_cost if objective == "cost" else _by_time)
    else:
        chosen = min([c for c in candidates if affordable(c, budget_usd)] or candidates, key=_by_time)
    in_time, in_budget = meets(chosen, deadline_s), affordable(chosen, budget_usd)
    return Choice(
        chosen, in_time, in_budget, _reason(chosen, len(candidates), deadline_s, budget_usd, objective)
    )


def _by_cost(candidate: Candidate) -> tuple[float, float, int, int]:
    return (candidate.cost_usd, candidate.runtime_p95_s, candidate.workers, candidate.memory_mb)


def _by_time(candidate: Candidate) -> tuple[float, float, int, int]:
    return (candidate.runtime_p95_s, candidate.cost_usd, candidate.workers, candidate.memory_mb)


def _reason(
    chosen: Candidate, count: int, deadline_s: float | None, budget_usd: float | None, objective: Objective
) -> str:
    what = f"{chosen.workers} worker{'s' if chosen.workers != 1 else ''} of {chosen.memory_mb} MB"
    figures = (
        f"{_seconds(chosen.runtime_s)} ({_seconds(chosen.runtime_p95_s)} at 95 %), ${chosen.cost_usd:.4g}"
    )
    limits = [f"the deadline of {_seconds(deadline_s)}"] if deadline_s is not None else []
    limits += [f"the budget of ${budget_usd:.4g}"] if budget_usd is not None else []
    broken = [] if meets(chosen, deadline_s) else [limits[0]]
    broken += [] if affordable(chosen, budget_usd) else [limits[-1]]
    beyond = "; its scale-out lies beyond what has been measured" if chosen.extrapolated else ""
    if broken:
        return (
            f"no candidate keeps {' and '.join(limits)}, so the fastest was taken"
            f"{' within the budget' if budget_usd is not None and affordable(chosen, budget_usd) else ''}: "
            f"{what}, {figures}{beyond}"
        )
    rank = "cheapest" if objective == "cost" else "fastest"
    verb, keep = ("is", "keeps") if chosen.workers == 1 else ("are", "keep")
    kept = f" that {keep} {' and '.join(limits)}" if limits else ""
    return f"of {count} candidates, {what} {verb} the {rank}{kept}: {figures}{beyond}"


def _seconds(seconds: float | None) -> str:
    assert seconds is not None
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
