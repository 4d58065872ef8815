"""Which family serves an algorithm: cross-validation over whole contexts, never over repeats of one.

The paper itself finds that simple models win on jobs of trivial scale-out (Scheinert et al. 2021, section V), so every
family is a candidate. Champion and challenger: a new model takes over only if it is better than what serves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bellwren.forecasting.update import lognormal
from bellwren.records.execution import Execution
from training.bell import Bell
from training.bellamy.family import Bellamy
from training.bellamy.pretrain import Pretraining
from training.ernest import Ernest
from training.evaluate import evaluate_family
from training.families import Family
from training.ours.family import Ours
from training.protocol import Fold, Task, folds
from training.scores import Score, score_prediction, summarise

CONTEXTS = 5
"""Contexts left out in turn."""
SPLITS = 2
BELLAMY_CONTEXTS = 3
BELLAMY_RUNS = 500
BELLAMY_EPOCHS = 300
BELLAMY_S = 400.0
"""Seconds that so many runs and epochs take at most, on one core; with less time left it does not take part."""
TOLERANCE = 1.02
"""A challenger may be 2 % (relative) worse than the champion's error on the same tests: less is chance."""


@dataclass(frozen=True)
class Selection:
    """The outcome of a cross-validation."""

    family: Family
    ranked: tuple[Family, ...]
    """All families tried, the best first, should one not be fit for export."""
    mre: float
    """In per cent, of the family taken, over all numbers of runs shown."""
    errors: dict[str, float]
    """MRE in per cent of every family tried."""
    details: dict[str, Any]
    """By family, kind and number of runs shown."""
    reason: str


def candidates(
    executions: Sequence[Execution], *, until: float = math.inf, vanished: int = 0
) -> list[Family]:
    """The families that can be tried on so many runs in the time that a training has.

    Bellamy learns from several contexts or not at all, and takes the longest by far; the others always take part.

    Args:
        executions: What is to be learned from.
        until: When the training has to be over, on the monotonic clock.
        vanished: Trainings that ended without a word before this one.
    """
    contexts = len({run.context for run in executions})
    slow: list[Family] = []
    time_is_left = time.monotonic() + BELLAMY_S < until and not vanished
    if contexts >= BELLAMY_CONTEXTS and len(executions) <= BELLAMY_RUNS and time_is_left:
        slow.append(Bellamy(settings=Pretraining(epochs=BELLAMY_EPOCHS)))
    return [Ours(), Ernest(), Bell(), *slow]


def select(
    executions: Sequence[Execution],
    families: Sequence[Family] | None = None,
    *,
    seed: int = 0,
    contexts: int = CONTEXTS,
) -> Selection:
    """Cross-validate families over whole contexts and take the best; with a single context, its runs are shown in part.

    Raises ValueError without runs.
    """
    if not executions:
        raise ValueError("no execution records: nothing can be selected")
    tried = list(families) if families is not None else candidates(executions)
    drawn = folds(executions, contexts=contexts, seed=seed, splits=SPLITS)
    scores = {family.name: _score(family, drawn, seed) for family in tried}
    errors = {name: _error(found) for name, found in scores.items()}
    ranked = tuple(sorted(tried, key=lambda family: errors[family.name]))
    best = ranked[0]
    others = ", ".join(
        f"{name} {error:.2f} %" for name, error in sorted(errors.items(), key=lambda item: item[1])
    )
    reason = f"{best.name} has the least error over {len(drawn)} contexts left out ({others})"
    if not np.isfinite(errors[best.name]):
        reason = f"{best.name} was taken untried: there are too few runs to leave any out"
    details = {name: summarise(found) for name, found in scores.items() if found}
    return Selection(best, ranked, errors[best.name], errors, details, reason)


def takes_over(challenger_mre: float, champion_mre: float) -> tuple[bool, str]:
    """Whether a new model replaces the one in service, both measured on the same tests, and why."""
    better = challenger_mre <= champion_mre * TOLERANCE
    verb = "is not worse than" if better else "is worse than"
    return (
        better,
        f"the new model's error of {challenger_mre:.2f} % {verb} the {champion_mre:.2f} % of the one in service",
    )


def _unanswered(fold: Fold, task: Task) -> list[Score]:
    """What a family of single contexts would answer without enough runs: the middle of all runs of the others, or where
    there are none of those shown. So every family is measured on the same tests.
    """
    known = fold.general or task.shown
    if not known:
        return []
    middle = float(np.median([run.runtime_s for run in known]))
    count = len(task.tests)
    return score_prediction(task, lognormal(np.full(count, np.log(middle)), np.ones(count)))


def _score(family: Family, drawn: Sequence[Fold], seed: int) -> list[Score]:
    answered = evaluate_family(family, drawn, seed)
    if family.least_runs == 0:
        return answered
    few = [(fold, task) for fold in drawn for task in fold.tasks if len(task.shown) < family.least_runs]
    return answered + [one for fold, task in few for one in _unanswered(fold, task)]


def _error(found: Sequence[Score]) -> float:
    """Mean relative error in per cent; infinite without tests."""
    return 100 * float(np.mean([one.relative for one in found])) if found else float("inf")
