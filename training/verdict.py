"""Whether a new model takes over, and why: the challenger against the model in service, or against none.

Both sides are measured on the same runs, of which neither knows. So the challenger is fitted once more without them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bellwren.forecasting.card import ModelError
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.model import RuntimeModel
from bellwren.forecasting.update import Prior, predict
from bellwren.learning.merging import Labelled
from bellwren.records.execution import Execution, Value
from training.cells import by_context
from training.export import Exportable
from training.select import Selection, takes_over
from training.unaided import error as unaided_error

TESTED = 200
"""Unseen records that champion and challenger are measured on, the latest."""
FOLDS = 4
LEAST_CELLS = 3
"""Choices from which on whole ones are left out in turn; of fewer, the later half of the runs is."""
LEAST_TESTS = 2
"""One test shows nothing, since there is no telling what chance does to it."""

Foresee = Callable[[Mapping[str, Value], Choices], Array]
"""(properties of a context, choices) -> expected seconds of each. Shape [B]."""
Fit = Callable[[Sequence[Execution]], Foresee]
"""The challenger, fitted to some of the runs."""
Errors = Mapping[object, list[tuple[float, float]]]
"""By cell, or by run: the challenger's relative errors, and those of what was said without a model."""


@dataclass(frozen=True)
class Verdict:
    """Whether the challenger takes over, and why."""

    published: bool
    reason: str
    challenger_mre: float | None = None
    """In per cent."""
    champion_mre: float | None = None
    """In per cent, of the model in service, or of what is said without one."""


def against(
    champion: RuntimeModel, fit: Fit, selection: Selection, labels: Sequence[Labelled], seen: frozenset[str]
) -> Verdict:
    """Whether the challenger is at least as good as the model in service, on the later half of what is new to that.

    Args:
        champion: The model in service.
        fit: Makes the challenger.
        selection: The cross-validation that the challenger has won.
        labels: What it is fitted to in the end, in order of time.
        seen: Names of the records that the champion was fitted to.
    """
    fresh = [one for one in labels if one.name not in seen]
    # What came first of the new is for learning from: where the world has changed, nothing else knows of it.
    tests = fresh[len(fresh) // 2 :][-TESTED:]
    held_out = {one.name for one in tests}
    rest = [one.execution for one in labels if one.name not in held_out]
    if not tests or not rest:
        other = selection.errors.get(champion.card.family)
        other = other if other is not None else champion.card.mre
        if other is None:
            return Verdict(published=True, reason="nothing is known of the error of the model in service")
        better, why = takes_over(selection.mre, other)
        return Verdict(better, f"{why} (families cross-validated on all records)", selection.mre, other)
    runs = [one.execution for one in tests]
    challenger_mre, champion_mre = error_percent(fit(rest), runs), error_percent(served(champion), runs)
    better, why = takes_over(challenger_mre, champion_mre)
    return Verdict(
        better, f"{why}, on {len(tests)} record(s) that neither had seen", challenger_mre, champion_mre
    )


def against_none(fit: Fit, labels: Sequence[Labelled], trouble: str) -> Verdict:
    """Whether the challenger is better than no model, by more than chance makes of as many tests: the mean gain is
    above its own standard error. ``trouble`` says why no model serves.
    """
    errors = _left_out(fit, labels)
    if len(errors) < LEAST_TESTS:
        few = f"{len(labels)} run(s) are too few to show that a model is better than none"
        return Verdict(published=False, reason=f"{trouble}; {few}")
    pairs = np.array([np.mean(of_one, axis=0) for of_one in errors.values()])
    gains = pairs[:, 1] - pairs[:, 0]
    doubt = float(np.std(gains, ddof=1)) / len(gains) ** 0.5
    better = bool(np.isfinite(gains).all() and gains.mean() > doubt)
    own, other = (100 * float(one) for one in pairs.mean(axis=0))
    verb = "is better than" if better else "is not clearly better than"
    return Verdict(
        better,
        f"{trouble}; the new model's error of {own:.2f} % {verb} the {other:.2f} % of what is said without one, "
        f"on {len(errors)} choices or runs that it had not seen",
        own,
        other,
    )


def _left_out(fit: Fit, labels: Sequence[Labelled]) -> Errors:
    """Whole cells are left out in turn, so that no repeat of what is tested is known; where there are too few, the
    later half of the runs, which is how they come in service.
    """
    cells: dict[object, list[Labelled]] = defaultdict(list)
    for one in labels:
        cells[one.execution.context, one.execution.cell].append(one)
    if len(cells) < LEAST_CELLS:
        half = (len(labels) + 1) // 2
        early, late = labels[:half], labels[half:]
        return (
            {one.name: [pair] for one, pair in zip(late, _pairs(fit, early, late), strict=True)}
            if late
            else {}
        )
    order = sorted(cells, key=str)
    found: dict[object, list[tuple[float, float]]] = {}
    for fold in range(FOLDS):
        out = set(order[fold::FOLDS])
        tests = [one for cell in order if cell in out for one in cells[cell]]
        rest = [one for cell in order if cell not in out for one in cells[cell]]
        if tests:
            for one, pair in zip(tests, _pairs(fit, rest, tests), strict=True):
                found.setdefault((one.execution.context, one.execution.cell), []).append(pair)
    return found


def _pairs(fit: Fit, known: Sequence[Labelled], tests: Sequence[Labelled]) -> list[tuple[float, float]]:
    own = errors(fit([one.execution for one in known]), [one.execution for one in tests])
    return list(zip(own, map(unaided_error, tests), strict=True))


def served(model: RuntimeModel) -> Foresee:
    """What a model in service says of contexts without new runs."""
    return lambda properties, choices: model.outlook(properties, choices).prediction.point_s


def unserved(trained: Exportable) -> Foresee:
    """The same of one that has no file yet. Making one takes longer than anything else here, and it is checked against
    its model when it is made.
    """

    def foresee(properties: Mapping[str, Value], choices: Choices) -> Array:
        encoder = trained.encoder
        given = (
            encoder.properties(properties),
            np.array([encoder.number(properties)], dtype=np.int64),
            encoder.rows(properties, choices),
            encoder.rows(properties, Choices.grid([])),
        )
        with torch.no_grad():
            said = trained.graph.eval()(*(torch.from_numpy(np.ascontiguousarray(part)) for part in given))
        prior = Prior(*(part.double().numpy() for part in said))
        return predict(prior, np.empty(0), trained.calibration).point_s

    return foresee


def error_percent(foresee: Foresee, runs: Sequence[Execution]) -> float:
    """Mean relative error in per cent on runs that it has not seen; infinite where it cannot answer."""
    return 100 * float(np.mean(errors(foresee, runs)))


def errors(foresee: Foresee, runs: Sequence[Execution]) -> list[float]:
    """Relative error of each run, in their order; infinite where there is no answer."""
    found: dict[int, float] = {}
    for group in by_context(runs).values():
        try:
            said = foresee(group[0].properties, Choices.of(group))
        except (ModelError, ValueError):
            said = np.full(len(group), math.inf)
        measured = np.array([run.runtime_s for run in group])
        found |= zip(map(id, group), (np.abs(said - measured) / measured).tolist(), strict=True)
    return [found[id(run)] for run in runs]
