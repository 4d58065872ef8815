"""Bellamy behind the common interface: pre-trained and fine-tuned, and its local variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction, lognormal
from bellwren.records.execution import Execution, Kind, Value
from training import families
from training.bellamy.finetune import EPOCHS, Strategy, Tuned, finetune
from training.bellamy.inputs import encode_choices, stack_inputs
from training.bellamy.pretrain import Pretrained, Pretraining, pretrain
from training.ernest import deviation

LEAST_S = 1e-3
"""The network may answer with less than nothing; no runtime below a millisecond leaves here."""


@dataclass(frozen=True)
class BellamyGeneral(families.General):
    """A pre-trained model, or none (local)."""

    algorithm: str
    kinds: Mapping[str, Kind]
    strategy: Strategy
    pretrained: Pretrained | None
    seed: int
    epochs: int

    def adapt(self, runs: Sequence[Execution]) -> families.Adapted:
        """Fine-tune to one context. Raises ValueError for the local variant without runs."""
        return _adapt_many([families.Adaptation(self, tuple(runs))])[0]


@dataclass(frozen=True)
class BellamyAdapted(families.Adapted):
    """A model of one context."""

    general: BellamyGeneral
    tuned: Tuned
    deviation: float

    def predict(self, properties: Mapping[str, Value], choices: Choices) -> Prediction:
        """Runtimes, with a log-normal band from held-out contexts or the residuals."""
        mean = np.log(run_network(self.general, self.tuned, properties, choices))
        return lognormal(mean, np.full_like(mean, self.deviation))


def run_network(
    general: BellamyGeneral, tuned: Tuned, properties: Mapping[str, Value], choices: Choices
) -> Array:
    """Seconds for candidates of one context. Shape [B]."""
    encoded = encode_choices(general.algorithm, properties, general.kinds, choices)
    models = tuned.stack.models
    inputs, _, _ = stack_inputs([encoded] * models, [tuned.scaling] * models)
    with torch.no_grad():
        seconds = tuned.stack(inputs)[tuned.at].double().numpy()
    positive: Array = np.maximum(np.nan_to_num(seconds, nan=LEAST_S, posinf=1e9), LEAST_S)
    return positive


def _adapt_many(adaptations: Sequence[families.Adaptation]) -> list[families.Adapted]:
    generals = [adaptation.general for adaptation in adaptations]
    assert all(isinstance(general, BellamyGeneral) for general in generals)
    known = [general for general in generals if isinstance(general, BellamyGeneral)]
    out: list[families.Adapted | None] = [None] * len(adaptations)
    few = [at for at, adaptation in enumerate(adaptations) if adaptation.runs]
    for at, general in enumerate(known):
        if not adaptations[at].runs:
            if general.pretrained is None:
                raise ValueError("bellamy without general data needs at least one run of the context")
            model = general.pretrained
            out[at] = BellamyAdapted(general, Tuned(model.stack, model.at, model.scaling), model.deviation)
    if few:
        first = known[few[0]]
        tuned = finetune(
            [known[at].pretrained for at in few],
            [adaptations[at].runs for at in few],
            first.strategy,
            seed=first.seed,
            epochs=first.epochs,
        )
        for at, model_ in zip(few, tuned, strict=True):
            out[at] = _with_deviation(known[at], model_, adaptations[at].runs)
    return [adapted for adapted in out if adapted is not None]


def _with_deviation(general: BellamyGeneral, tuned: Tuned, runs: Sequence[Execution]) -> BellamyAdapted:
    draft = BellamyAdapted(general, tuned, 0.0)
    seconds = run_network(general, tuned, runs[0].properties, Choices.of(runs))
    residual = deviation(np.log(seconds / np.array([run.runtime_s for run in runs])))
    prior = general.pretrained.deviation if general.pretrained else 0.0
    return replace(draft, deviation=max(residual, prior / np.sqrt(1 + len(runs))))


class Bellamy(families.Family):
    """Pre-trained on the other contexts, fine-tuned by a strategy."""

    name = "bellamy"

    def __init__(
        self,
        strategy: Strategy = "partial-unfreeze",
        settings: Pretraining | None = None,
        epochs: int = EPOCHS,
    ) -> None:
        self.strategy = strategy
        self.settings = settings or Pretraining()
        self.epochs = epochs

    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> families.General:
        """Pre-train. Raises ValueError without runs."""
        return self.fit_many([executions], seed=seed)[0]

    def fit_many(self, sets: Sequence[Sequence[Execution]], *, seed: int = 0) -> list[families.General]:
        """Pre-train on several sets side by side."""
        if not all(sets):
            raise ValueError("bellamy needs runs of other contexts; without them, take bellamy-local")
        models = pretrain(sets, self.settings, seed)
        return [
            BellamyGeneral(runs[0].algorithm, _kinds(runs), self.strategy, model, seed, self.epochs)
            for runs, model in zip(sets, models, strict=True)
        ]

    def adapt_many(self, adaptations: Sequence[families.Adaptation]) -> list[families.Adapted]:
        """Fine-tune to several contexts side by side."""
        return _adapt_many(adaptations)


class BellamyLocal(families.Family):
    """f and z on the runs of one context alone."""

    name = "bellamy-local"
    least_runs = 1

    def __init__(self, epochs: int = EPOCHS) -> None:
        self.epochs = epochs

    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> families.General:
        """There is nothing to learn from other contexts."""
        algorithm = executions[0].algorithm if executions else ""
        return BellamyGeneral(algorithm, _kinds(executions), "local", None, seed, self.epochs)

    def adapt_many(self, adaptations: Sequence[families.Adaptation]) -> list[families.Adapted]:
        """Fit to several contexts side by side."""
        return _adapt_many(adaptations)


def _kinds(runs: Sequence[Execution]) -> dict[str, Kind]:
    return {name: kind for run in runs for name, kind in run.kinds.items()}
