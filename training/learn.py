"""From the records of an algorithm to its next model in service, or to the reason why the present one stays.

Challenger: the family with the least error in a cross-validation over whole contexts, fitted to all records. Champion:
the model in service, or where there is none, what is said without one (`training.verdict`). Whoever loses is kept as a
version, with the reason on its card.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bellwren.forecasting.card import ModelError
from bellwren.forecasting.model import RuntimeModel
from bellwren.learning.merging import Labelled
from bellwren.learning.registry import Pointer, Registry
from bellwren.learning.training import Lesson
from bellwren.records.execution import Execution
from training.export import Published, export
from training.publish import exportable
from training.recent import chosen
from training.select import Selection, candidates, select
from training.verdict import Foresee, Verdict, against, against_none, unserved

Document = dict[str, Any]

_log = logging.getLogger(__name__)


def learn(lesson: Lesson, *, seed: int = 0) -> Document:
    """Fit, compare, publish. See `bellwren.learning.training.Learn`.

    Raises:
        PublishedMeanwhile: another training or a rollback moved the version in service.
        ModelError: the new model's file does not do what the model does.
    """
    labels = chosen(lesson.labels, since=lesson.since, vanished=lesson.vanished)
    before = lesson.registry.current(lesson.algorithm)
    champion, trouble = _champion(lesson.registry, lesson.algorithm, before)
    seen = lesson.registry.trained_on(lesson.algorithm, before.version) if before.version else frozenset()
    runs = _runs(labels)
    selection = select(runs, candidates(runs, until=lesson.until, vanished=lesson.vanished), seed=seed)
    made = _exported(selection, runs, seed)

    (family,) = (one for one in selection.ranked if one.name == made.card.family)

    def fit(some: Sequence[Execution]) -> Foresee:
        return unserved(exportable(family, some, seed=seed))

    if champion is None:
        verdict = against_none(fit, labels, trouble)
    else:
        verdict = against(champion, fit, selection, labels, seen)
    card = replace(made.card, cross_validation=_told(selection, verdict, before))
    names = [one.name for one in labels]
    lesson.registry.add(lesson.algorithm, card.version, made.model, card.as_dict(), names)
    if verdict.published:
        lesson.registry.publish(lesson.algorithm, card.version, before, family=card.family)
    return {
        "outcome": "PUBLISHED" if verdict.published else "KEPT",
        "reason": verdict.reason,
        "version": card.version,
        "family": card.family,
        "mre": card.mre,
        "learned_from": len(labels),
        "drifted": lesson.drifted,
    }


def _champion(registry: Registry, algorithm: str, before: Pointer) -> tuple[RuntimeModel | None, str]:
    """The model in service as the prediction function would load it; None with the reason where it would not."""
    if before.version is None:
        return None, "there was no model in service"
    try:
        model, card = registry.files(algorithm, before.version)
        return RuntimeModel.load(model, card), ""
    except (ModelError, FileNotFoundError) as error:
        return None, f"the model in service cannot serve: {error}"


def _told(selection: Selection, verdict: Verdict, before: Pointer) -> Document:
    """What the card says of all this."""
    return {
        "errors": {name: _finite(error) for name, error in selection.errors.items()},
        "reason": selection.reason,
        "details": selection.details,
        "decision": {
            "published": verdict.published,
            "reason": verdict.reason,
            "champion": before.version,
            "challenger_mre": _finite(verdict.challenger_mre),
            "champion_mre": _finite(verdict.champion_mre),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }


def _exported(selection: Selection, runs: Sequence[Execution], seed: int) -> Published:
    """The best family whose file does what its model does. Raises `ModelError` if that is none."""
    for family in selection.ranked:
        try:
            error = _finite(selection.errors[family.name])
            return export(exportable(family, runs, seed=seed), mre=error)
        except ModelError:
            if family is selection.ranked[-1]:
                raise
            _log.exception("the %s model cannot be exported; the next best family is taken", family.name)
    raise ValueError("no family was tried")


def _runs(labels: Sequence[Labelled]) -> list[Execution]:
    return [one.execution for one in labels]


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
