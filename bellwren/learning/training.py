"""One training task, from its lease to the deletion of its messages. How a model is fitted is handed in.

Every way out is safe to repeat: what was published stays published, messages that were not deleted come again and are
found to be old, and where anything fails the model in service is the one from before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.learning.calibration import CalibrationState, calibration
from bellwren.learning.merging import Labelled, Merged, merge, put_aside
from bellwren.learning.metrics import Emit
from bellwren.learning.queue import RecordQueue
from bellwren.learning.registry import PublishedMeanwhile, Registry, UnknownModel
from bellwren.learning.state import LearningState
from bellwren.store import Store

Document = dict[str, Any]


@dataclass(frozen=True)
class Lesson:
    """What a model is fitted to."""

    algorithm: str
    labels: Sequence[Labelled]
    """In order of time; at least one."""
    registry: Registry
    calibration: CalibrationState
    """How the forecasts of the last runs turned out."""


Learn = Callable[[Lesson], Document]
"""Fit, compare, publish; returns at least ``{"outcome": "PUBLISHED" | "KEPT", "reason"}``."""


@dataclass(frozen=True)
class Task:
    """One training."""

    algorithm: str
    batch: str
    records: Store
    models: Store
    queue: RecordQueue
    learn: Learn
    emit: Emit

    def run(self, invocation: str) -> Document:
        """Train, and say what came of it: ``{"algorithm", "batch", "outcome", "reason", ...}``.

        ``invocation`` names this try: where it is not the first of its batch, nothing is done (``SUPERSEDED``).
        """
        state = LearningState(self.models, self.algorithm)
        if not state.take_up(self.batch, invocation):
            return self._said(
                {"outcome": "SUPERSEDED", "reason": "another training of it is under way or done"}
            )
        note = self.models.find_json(layout.batch(self.algorithm, self.batch)) or {}
        receipts = list(note.get("receipts", ()))
        try:
            merged = merge(self.records, self.algorithm)
            put_aside(self.records, merged)
            self._emit_quarantined(merged)
            said = self._learn(merged, state.read(), asked=bool(note.get("asked")))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:1000]
            state.settle(self.batch, last=self._said({"outcome": "FAILED", "reason": reason}))
            self.queue.give_back(receipts)
            raise
        facts = {
            "fingerprint": merged.fingerprint,
            "labels": _digest(merged.labels),
            "calibration": said.pop("calibration"),
            "last": self._said(said),
        }
        if state.settle(self.batch, **facts):
            self.queue.delete(receipts)
        return self._said(said)

    def _learn(self, merged: Merged, before: Document, *, asked: bool) -> Document:
        registry = Registry(self.models)
        counts = {
            "records": len(merged.labels),
            "set_aside": merged.set_aside,
            "repeated": merged.repeated,
            "quarantined": len(merged.bad),
        }
        judged = calibration(merged.outcomes, promised_error(registry, self.algorithm))
        self._emit_calibration(judged)
        rest = {**counts, "calibration": judged.as_dict()}
        if not merged.labels:
            return {"outcome": "KEPT", "reason": "there is no record that may be learned from", **rest}
        if before.get("labels") == _digest(merged.labels) and not asked:
            return {"outcome": "KEPT", "reason": "no new record may be learned from", **rest}
        lesson = Lesson(self.algorithm, merged.labels, registry, judged)
        try:
            return {**self.learn(lesson), **rest}
        except PublishedMeanwhile as error:
            return {"outcome": "KEPT", "reason": str(error), **rest}

    def _said(self, facts: Document) -> Document:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return {"algorithm": self.algorithm, "batch": self.batch, "at": at, **facts}

    def _emit_quarantined(self, merged: Merged) -> None:
        if merged.bad:
            self.emit({"Quarantined": len(merged.bad)}, self.algorithm)

    def _emit_calibration(self, judged: CalibrationState) -> None:
        if judged.coverage95 is not None and judged.error is not None:
            values = {
                "Coverage95": judged.coverage95,
                "ForecastError": judged.error,
                "Drifted": judged.drifted,
            }
            self.emit({name: float(value) for name, value in values.items()}, self.algorithm)


def promised_error(registry: Registry, algorithm: str) -> float | None:
    """Relative error that the model in service was published with; None where that is not known."""
    version = registry.current(algorithm).version
    if version is None:
        return None
    try:
        mre = registry.card(algorithm, version).get("mre")
    except (UnknownModel, ValueError):  # missing or damaged: then the model serves nobody either
        return None
    return mre / 100 if isinstance(mre, (int, float)) else None


def _digest(labels: Sequence[Labelled]) -> str:
    return hashlib.sha256("\n".join(sorted(one.name for one in labels)).encode()).hexdigest()[:32]
