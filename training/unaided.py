"""What was expected of runs without a model: the first model of an algorithm has to be better than that."""

from __future__ import annotations

from bellwren.forecasting.answer import Question
from bellwren.forecasting.fallback import analytic
from bellwren.forecasting.features import Choices
from bellwren.learning.merging import Labelled


def expected_s(label: Labelled) -> float:
    """Seconds that were expected of a run without a model, or would have been: by the analytic prior where a sample was
    measured before the run, else by the stated default.
    """
    if label.unaided_s is not None:
        return label.unaided_s
    run = label.execution
    question = Question(run.algorithm, run.properties, max_workers=1, memory_sizes_mb=())
    return float(analytic(question.work, Choices.of([run])).point_s[0])


def error(label: Labelled) -> float:
    """Relative to what the run took."""
    runtime_s = label.execution.runtime_s
    return abs(expected_s(label) - runtime_s) / runtime_s
