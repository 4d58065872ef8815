"""Errors of predictions against every repeat of the cells tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bellwren.forecasting.features import Choices
from bellwren.forecasting.update import Prediction
from training.families import Adapted
from training.protocol import Kind, Task


@dataclass(frozen=True)
class Score:
    """One cell, tested once."""

    kind: Kind
    runs: int
    """Runs that the model was shown."""
    relative: float
    """Mean over repeats of |predicted - measured| / measured."""
    absolute_s: float
    coverage: float
    """Share of repeats at or below the 95 % quantile."""
    width: float
    """95 % quantile over median."""
    context: str = ""


def score(task: Task, adapted: Adapted) -> list[Score]:
    """Predict every cell of a task in one call, and compare."""
    firsts = [test.runs[0] for test in task.tests]
    prediction = adapted.predict(firsts[0].properties, Choices.of(firsts))
    return score_prediction(task, prediction)


def score_prediction(task: Task, prediction: Prediction) -> list[Score]:
    """Compare predictions, one for each of the task's cells."""
    out = []
    for at, test in enumerate(task.tests):
        measured = np.array([run.runtime_s for run in test.runs])
        error = np.abs(prediction.point_s[at] - measured)
        out.append(
            Score(
                test.kind,
                len(task.shown),
                float(np.mean(error / measured)),
                float(np.mean(error)),
                float(np.mean(measured <= prediction.high_s[at])),
                float(prediction.high_s[at] / prediction.median_s[at]),
                task.context,
            )
        )
    return out


Summary = dict[str, dict[str, dict[str, float]]]
"""``{"interpolation"|"extrapolation": {n: {"mre": %, "mae": s, "coverage95": share, "width95": ratio}}}``"""


def summarise(scores: Iterable[Score]) -> Summary:
    """Means over all cells tested, by kind and number of runs shown."""
    grouped: Mapping[tuple[str, int], list[Score]] = defaultdict(list)
    for one in scores:
        grouped[one.kind, one.runs].append(one)
    out: Summary = {}
    for (kind, runs), group in sorted(
        grouped.items(), key=lambda item: (item[0][0] != "interpolation", item[0][1])
    ):
        out.setdefault(kind, {})[str(runs)] = {
            "mre": 100 * _mean([one.relative for one in group]),
            "mae": _mean([one.absolute_s for one in group]),
            "coverage95": _mean([one.coverage for one in group]),
            "width95": _mean([one.width for one in group]),
        }
    return out


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
