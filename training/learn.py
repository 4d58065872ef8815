"""From the records of an algorithm to its next model in service, or to the reason why the present one stays.

Challenger: the family with the least error in a cross-validation over whole contexts, fitted to all records. Champion:
the model in service. Both are measured on the records that the champion has not seen, the challenger fitted without
them for that. Whoever loses is kept as a version, with the reason on its card.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bellwren.forecasting.card import ModelError
from bellwren.forecasting.features import Choices
from bellwren.forecasting.model import RuntimeModel
from bellwren.learning.merging import Labelled
from bellwren.learning.registry import Pointer, Registry
from bellwren.learning.training import Lesson
from bellwren.records.execution import Execution
from training.cells import by_context
from training.export import Published, export
from training.publish import exportable
from training.recent import chosen
from training.select import Selection, select, takes_over

Document = dict[str, Any]

_log = logging.getLogger(__name__)

TESTED = 200
"""Unseen records that champion and challenger are measured on, the latest."""


@dataclass(frozen=True)
class Verdict:
    """Whether the challenger takes over, and why."""

    published: bool
    reason: str
    challenger_mre: float | None = None
    """In per cent, on the records that the champion had not seen."""
    champion_mre: float | None = None


def learn(lesson: Lesson, *, seed: int = 0) -> Document:
    """Fit, compare, publish. See `bellwren.learning.training.Learn`.

    Raises:
        PublishedMeanwhile: another training or a rollback moved the version in service.
        ModelError: the new model's file does not do what the model does.
    """
    labels = chosen(lesson.labels, drifted=lesson.calibration.drifted)
    before = lesson.registry.current(lesson.algorithm)
    champion, trouble = _champion(lesson.registry, lesson.algorithm, before)
    seen = lesson.registry.trained_on(lesson.algorithm, before.version) if before.version else frozenset()
    selection = select(_runs(labels), seed=seed)
    verdict = _judge(champion, trouble, selection, labels, seen=seen, seed=seed)
    made = _fit(selection, labels, verdict, before, seed)
    version = made.card.version
    names = [one.name for one in labels]
    lesson.registry.add(lesson.algorithm, version, made.model, made.card.as_dict(), names)
    if verdict.published:
        lesson.registry.publish(lesson.algorithm, version, before, family=made.card.family)
    return {
        "outcome": "PUBLISHED" if verdict.published else "KEPT",
        "reason": verdict.reason,
        "version": version,
        "family": made.card.family,
        "mre": made.card.mre,
        "learned_from": len(labels),
        "drifted": lesson.calibration.drifted,
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


def _judge(
    champion: RuntimeModel | None,
    trouble: str,
    selection: Selection,
    labels: Sequence[Labelled],
    *,
    seen: frozenset[str],
    seed: int,
) -> Verdict:
    if champion is None:
        return Verdict(published=True, reason=trouble)
    fresh = _runs([one for one in labels if one.name not in seen])[-TESTED:]
    old = _runs([one for one in labels if one.name in seen])
    if not fresh or not old:
        other = selection.errors.get(champion.card.family)
        better, why = takes_over(selection.mre, other if other is not None else champion.card.mre)
        return Verdict(better, f"{why} (families cross-validated on all records)", selection.mre, other)
    rival = _exported(selection, old, seed)
    challenger_mre = error_percent(RuntimeModel(rival.model, rival.card), fresh)
    champion_mre = error_percent(champion, fresh)
    better, why = takes_over(challenger_mre, champion_mre)
    return Verdict(
        better, f"{why}, on {len(fresh)} records that neither had seen", challenger_mre, champion_mre
    )


def error_percent(model: RuntimeModel, runs: Sequence[Execution]) -> float:
    """Mean relative error in per cent of a model on runs that it has not seen; infinite where it cannot answer."""
    errors: list[float] = []
    for group in by_context(runs).values():
        try:
            said = model.outlook(group[0].properties, Choices.of(group)).prediction
        except ModelError:
            return math.inf
        measured = np.array([run.runtime_s for run in group])
        errors += list(np.abs(said.point_s - measured) / measured)
    return 100 * float(np.mean(errors))


def _fit(
    selection: Selection, labels: Sequence[Labelled], verdict: Verdict, before: Pointer, seed: int
) -> Published:
    told = {
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
    return _exported(selection, _runs(labels), seed, told)


def _exported(
    selection: Selection, runs: Sequence[Execution], seed: int, told: Document | None = None
) -> Published:
    """The best family whose file does what its model does. Raises `ModelError` if that is none."""
    for family in selection.ranked:
        try:
            error = _finite(selection.errors[family.name])
            return export(exportable(family, runs, seed=seed), mre=error, cross_validation=told)
        except ModelError:
            if family is selection.ranked[-1]:
                raise
            _log.exception("the %s model cannot be exported; the next best family is taken", family.name)
    raise ValueError("no family was tried")


def _runs(labels: Sequence[Labelled]) -> list[Execution]:
    return [one.parsed.label.execution for one in labels]


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
