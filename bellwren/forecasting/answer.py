"""The answer to "how long, for how much, with how many workers": candidates, choice, reason, in one document.

In order: this context's model or the general one (one and the same file: a context with runs is known to it), the
analytic prior from a measured sample, the stated default. Pure but for the model it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bellwren.forecasting.candidates import grid
from bellwren.forecasting.card import Card, ModelError
from bellwren.forecasting.choose import Candidate, Choice, Objective, choose, meets
from bellwren.forecasting.fallback import MB_PER_VCPU, Sample, Work, analytic
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction
from bellwren.records.execution import BYTES, ITEMS, TASKS, Execution, Value

if TYPE_CHECKING:
    from bellwren.forecasting.model import Outlook, RuntimeModel

Cost = Callable[[Array, Array, Array], Array]
"""(workers, memory_mb, runtime_s) -> USD, for many candidates at once. Shapes [B]."""


LONGEST_S = 365.0 * 24 * 3600
"""An execution of Step Functions ends after a year, whatever a model says of a job that it knows nothing of."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    algorithm: str
    properties: Mapping[str, Value]
    """Of the context: bytes, items, tasks, parameters, data characteristics."""
    max_workers: int
    memory_sizes_mb: Sequence[int]
    workers: int | None = None
    """Fixed by the user."""
    memory_mb: int | None = None
    """Fixed by the user."""
    deadline_s: float | None = None
    budget_usd: float | None = None
    objective: Objective = "cost"
    sample: Sample | None = None
    """What a small piece of the input took, if it was run."""

    @property
    def work(self) -> Work:
        """What there is to do, as far as it is known."""
        tasks = _number(self.properties.get(TASKS))
        return Work(
            _number(self.properties.get(BYTES)),
            _number(self.properties.get(ITEMS)),
            int(tasks) if tasks else None,
        )


def answer(
    question: Question, cost: Cost, model: RuntimeModel | None = None, runs: Sequence[Execution] = ()
) -> dict[str, Any]:
    """Forecast every candidate and choose.

    Args:
        question: What is asked.
        cost: Cost in USD of jobs at their runtimes.
        model: The algorithm's model, or None.
        runs: Runs of this context that the model was not trained on.

    Returns:
        ``{"algorithm", "model": {"version", "family", "records", "mre"} | None, "source", "forecasts": [{"workers",
        "memory_mb", "runtime_s", "runtime_p95_s", "cost_usd", "meets_deadline", "extrapolated"}], "choice": {...},
        "reason", "flags": [...], "deadline_s", "budget_usd", "objective"}``.
    """
    pairs = grid(
        tasks=question.work.tasks,
        max_workers=question.max_workers,
        memory_sizes_mb=question.memory_sizes_mb,
        workers=question.workers,
        memory_mb=question.memory_mb,
    )
    workers, memory = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    choices = Choices(workers, memory, memory / MB_PER_VCPU)
    outlook, failed = _ask(model, question, choices, runs)
    if outlook is not None and model is not None:
        prediction, far, flags = outlook.prediction, outlook.extrapolated, list(outlook.flags)
        source = "context model" if outlook.context_known else "general model"
    else:
        prediction, far = analytic(question.work, choices, question.sample), (False,) * len(pairs)
        source = "analytic prior" if question.sample else "stated default"
        flags = [failed] if failed else []
    candidates = _candidates(choices, prediction, far, cost)
    chosen = choose(
        candidates,
        deadline_s=question.deadline_s,
        budget_usd=question.budget_usd,
        objective=question.objective,
    )
    return {
        "algorithm": question.algorithm,
        "model": _model(model.card) if model is not None and outlook is not None else None,
        "source": source,
        "forecasts": [_row(candidate, question.deadline_s) for candidate in candidates],
        "choice": {**_row(chosen.candidate, question.deadline_s), "meets_budget": chosen.meets_budget},
        "reason": _reason(chosen, source, question.algorithm),
        "flags": flags,
        "deadline_s": question.deadline_s,
        "budget_usd": question.budget_usd,
        "objective": question.objective,
    }


def _ask(
    model: RuntimeModel | None, question: Question, choices: Choices, runs: Sequence[Execution]
) -> tuple[Outlook | None, str]:
    if model is None:
        return None, ""
    try:
        return model.outlook(question.properties, choices, runs), ""
    except ModelError as error:
        return None, str(error)


def _candidates(choices: Choices, prediction: Prediction, far: Sequence[bool], cost: Cost) -> list[Candidate]:
    workers, memory_mb = choices.workers, choices.memory_mb
    runtime_s = np.minimum(prediction.point_s, LONGEST_S)
    high_s = np.minimum(np.maximum(runtime_s, prediction.high_s), LONGEST_S)
    usual, high = (cost(workers, memory_mb, seconds) for seconds in (runtime_s, high_s))
    whole = (workers.astype(int), memory_mb.astype(int))
    # Lists of Python's own numbers: many times faster to go through than arrays, and what JSON takes.
    columns = [column.tolist() for column in (*whole, runtime_s, high_s, usual, high)]
    return [Candidate(*row) for row in zip(*columns, far, strict=True)]


def _row(candidate: Candidate, deadline_s: float | None) -> dict[str, Any]:
    return {
        "workers": candidate.workers,
        "memory_mb": candidate.memory_mb,
        "runtime_s": candidate.runtime_s,
        "runtime_p95_s": candidate.runtime_p95_s,
        "cost_usd": candidate.cost_usd,
        "extrapolated": candidate.extrapolated,
        "meets_deadline": meets(candidate, deadline_s),
    }


def _model(card: Card) -> dict[str, Any]:
    return {"version": card.version, "family": card.family, "records": card.records, "mre": card.mre}


def _reason(chosen: Choice, source: str, algorithm: str) -> str:
    if source in {"context model", "general model"}:
        return chosen.reason
    basis = "a measured sample" if source == "analytic prior" else "the stated default"
    return f"{chosen.reason} (there is no model of {algorithm!r} yet: by {basis})"


def _number(value: Value | None) -> float | None:
    return None if value is None or isinstance(value, str) or not value > 0 else float(value)
