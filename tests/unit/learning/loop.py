"""A loop in memory, whose trainings are started by hand."""

from __future__ import annotations

import math
from typing import Any

from bellwren.learning.collect import Collected, Tick
from bellwren.learning.state import LearningState
from bellwren.learning.training import Lesson, Task
from tests.unit.learning.memory import Bucket, Queue, put


class Loop:
    """Trainings are started by hand, so that a test says what happens between."""

    def __init__(self) -> None:
        self.records, self.models, self.queue = Bucket("records"), Bucket("models"), Queue()
        self.now = 1000.0
        self.started: list[tuple[str, str]] = []
        self.lessons: list[list[str]] = []
        self.metrics: list[tuple[dict[str, float], str]] = []
        self.broken: Exception | None = None
        self.until = math.inf

    def put(self, *numbers: int, algorithm: str = "grep", **changed: Any) -> list[str]:
        keys = [put(self.records, number, algorithm, **changed) for number in numbers]
        for key in keys:
            self.queue.announce(key)
        return keys

    def tick(self) -> Collected:
        return self._tick().collect()

    def demand(self, algorithm: str) -> Collected:
        return self._tick().demand(algorithm)

    def _tick(self) -> Tick:
        def start(algorithm: str, batch: str) -> None:
            self.started.append((algorithm, batch))

        return Tick(self.queue, self.records, self.models, start, clock=lambda: self.now)  # type: ignore[arg-type]

    def train(self, at: int = -1, invocation: str = "first") -> dict[str, Any]:
        def learn(lesson: Lesson) -> dict[str, Any]:
            if self.broken:
                raise self.broken
            self.lessons.append([one.job_id for one in lesson.labels])
            self.lesson = lesson
            return {"outcome": "PUBLISHED", "reason": "better", "version": f"v{len(self.lessons)}"}

        algorithm, batch = self.started[at]
        task = Task(
            algorithm, batch, self.records, self.models, self.queue, learn,  # type: ignore[arg-type]
            lambda values, algorithm: self.metrics.append((dict(values), algorithm)),
            until=self.until, clock=lambda: self.now,
        )  # fmt: skip
        return task.run(invocation)

    def state(self, algorithm: str = "grep") -> dict[str, Any]:
        return LearningState(self.models, algorithm).read()  # type: ignore[arg-type]
