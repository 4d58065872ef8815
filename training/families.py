"""One interface for every kind of runtime model: learn from general data, adapt to a context, predict, export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bellwren.forecasting.features import Choices
from bellwren.forecasting.update import Prediction
from bellwren.records.execution import Execution, Value


class Adapted(ABC):
    """A model of one context."""

    @abstractmethod
    def predict(self, properties: Mapping[str, Value], choices: Choices) -> Prediction:
        """Runtimes of all candidates at once, with 5, 50 and 95 % quantiles."""


class General(ABC):
    """What a family has learned from the contexts of one algorithm."""

    @abstractmethod
    def adapt(self, runs: Sequence[Execution]) -> Adapted:
        """Fit to one context, given by runs of it (possibly none)."""


@dataclass(frozen=True)
class Adaptation:
    """One adaptation to be made."""

    general: General
    runs: tuple[Execution, ...]


class Family(ABC):
    """A kind of model."""

    name: str
    least_runs: int = 0
    """Runs of a context that it needs before it can say anything."""

    @abstractmethod
    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> General:
        """Learn from all contexts of one algorithm (none at all, for a family that needs no general data)."""

    def fit_many(self, sets: Sequence[Sequence[Execution]], *, seed: int = 0) -> list[General]:
        """Learn from several sets apart. Families that gain from training side by side override it."""
        return [self.fit(executions, seed=seed) for executions in sets]

    def adapt_many(self, adaptations: Sequence[Adaptation]) -> list[Adapted]:
        """Make several adaptations, each as `General.adapt` would."""
        return [adaptation.general.adapt(adaptation.runs) for adaptation in adaptations]
