"""One training task, from its lease to the deletion of its messages. How a model is fitted is handed in.

Every way out is safe to repeat: what was published stays published, messages that were not deleted come again and are
found to be old, and where anything fails the model in service is the one from before.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.learning.calibration import WINDOW, CalibrationState, calibration
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
    drifted: bool = False
    """Whether the last forecasts were out of their band."""
    since: str = ""
    """ISO 8601 time of the last change that was seen as drift: what ran before says less. Empty: there was none."""
    vanished: int = 0
    """Trainings of this algorithm that ended without a word one after the other, for want of memory or time."""
    until: float = math.inf
    """On the monotonic clock: when it has to be over."""


Learn = Callable[[Lesson], Document]
"""Fit, compare, publish; returns at least ``{"outcome": "PUBLISHED" | "KEPT", "reason"}``."""


@dataclass(frozen=True)
class Task:
    """One training. Raises ValueError for an algorithm that cannot have records."""

    algorithm: str
    batch: str
    records: Store
    models: Store
    queue: RecordQueue
    learn: Learn
    emit: Emit
    until: float = math.inf
    """On the monotonic clock: when the function is ended."""
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not layout.ALGORITHM.fullmatch(self.algorithm):
            raise ValueError(f"the algorithm is {self.algorithm!r}; allowed: a name as in a job document")

    def run(self, invocation: str) -> Document:
        """Train, and say what came of it: ``{"algorithm", "batch", "outcome", "reason", ...}``.

        ``invocation`` names this try: where it is not the first of its batch, nothing is done (``SUPERSEDED``).
        """
        state = LearningState(self.models, self.algorithm, self.clock)
        if not state.take_up(self.batch, invocation):
            return self._said(
                {"outcome": "SUPERSEDED", "reason": "another training of it is under way or done"}
            )
        with state.kept(self.batch, invocation):
            return self._run(state)

    def _run(self, state: LearningState) -> Document:
        began = time.monotonic()
        note = self.models.find_json(layout.batch(self.algorithm, self.batch)) or {}
        receipts = list(note.get("receipts", ()))
        try:
            merged = merge(self.records, self.algorithm)
            put_aside(self.records, merged)
            self._emit_quarantined(merged)
            before = state.read()
            said = self._learn(merged, before, asked=bool(note.get("asked")))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:1000]
            eased = _vanished(state.read()) + isinstance(error, MemoryError)
            failed = self._said({"outcome": "FAILED", "reason": reason})
            state.settle(self.batch, eased=eased, last=failed)
            self.queue.give_back(receipts)
            raise
        facts = {
            "fingerprint": merged.fingerprint,
            "labels": _digest(merged.labels),
            "calibration": said.pop("calibration"),
            **said.pop("changed", {}),
            "eased": _eased(_vanished(before), time.monotonic() - began, self.until - began),
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
        # Forecasts from before a change that a model has answered say nothing of that model.
        forecasts = [one for one in merged.outcomes if one.started_at >= str(before.get("answered_at") or "")]
        judged = calibration(forecasts, promised_error(registry, self.algorithm))
        self._emit_calibration(judged)
        rest = {**counts, "calibration": judged.as_dict()}
        if not merged.labels:
            return {"outcome": "KEPT", "reason": "there is no record that may be learned from", **rest}
        if before.get("labels") == _digest(merged.labels) and not asked:
            return {"outcome": "KEPT", "reason": "no new record may be learned from", **rest}
        lesson = Lesson(
            self.algorithm,
            merged.labels,
            registry,
            drifted=judged.drifted,
            since=_changed_at(merged.labels) if judged.drifted else str(before.get("since") or ""),
            vanished=_vanished(before),
            until=self.until,
        )
        try:
            said = {**self.learn(lesson), **rest}
        except PublishedMeanwhile as error:
            return {"outcome": "KEPT", "reason": str(error), **rest}
        if judged.drifted and said["outcome"] == "PUBLISHED":
            said["changed"] = {"since": lesson.since, "answered_at": datetime.now(UTC).isoformat()}
        return said

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
    except UnknownModel:  # missing or damaged: then the model serves nobody either
        return None
    return mre / 100 if isinstance(mre, (int, float)) else None


def _vanished(document: Document) -> int:
    return int((document.get("lease") or {}).get("vanished", 0))


def _eased(vanished: int, took_s: float, had_s: float) -> int:
    """How much less the next training takes: what has ended by far in time may take more again."""
    return max(0, vanished - 1) if took_s < had_s / 4 else vanished


def _changed_at(labels: Sequence[Labelled]) -> str:
    """When the runs began that calibration has judged, as far as is known."""
    return labels[-WINDOW:][0].started_at


def _digest(labels: Sequence[Labelled]) -> str:
    return hashlib.sha256("\n".join(sorted(one.name for one in labels)).encode()).hexdigest()[:32]
