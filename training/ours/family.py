"""Our model behind the common interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bellwren.forecasting.encoders import Encoder
from bellwren.forecasting.features import Array, Choices, learn_schema
from bellwren.forecasting.update import Calibration, Prediction, Prior, predict
from bellwren.records.execution import Execution, Value
from training import families
from training.cells import gather
from training.export import Exportable
from training.ours.calibrate import calibrate, leave_out
from training.ours.fit import learn
from training.ours.graph import OursGraph


class Ours(families.Family):
    """Gaussian process on log-runtime; see `training.ours.kernel`."""

    name = "ours"

    def fit(self, executions: Sequence[Execution], *, seed: int = 0) -> OursGeneral:
        """Learn kernel and posterior, then calibrate by leaving whole contexts out."""
        schema = learn_schema(executions)
        cells = gather(executions, schema)
        general = learn(cells, schema, seed=seed)
        calibration = calibrate(leave_out(general, cells, seed), seed)
        kinds = {name: kind for run in executions for name, kind in run.kinds.items()}
        encoder = Encoder("magnitude", schema, executions[0].algorithm, kinds)
        return OursGeneral(encoder, OursGraph(general).eval(), calibration, len(executions))


@dataclass(frozen=True)
class OursGeneral(families.General):
    """Posterior over all contexts of an algorithm."""

    encoder: Encoder
    graph: OursGraph
    calibration: Calibration
    records: int

    def adapt(self, runs: Sequence[Execution]) -> OursAdapted:
        """Nothing is computed yet: the update is part of predicting, and takes a fraction of a millisecond."""
        return OursAdapted(self, tuple(runs))

    def exportable(self) -> Exportable:
        """What the file and its card need."""
        contexts = len(self.encoder.schema.contexts)
        name, algorithm = Ours.name, self.encoder.algorithm
        return Exportable(name, algorithm, self.graph, self.encoder, self.calibration, self.records, contexts)


@dataclass(frozen=True)
class OursAdapted(families.Adapted):
    """The posterior and some runs of one context."""

    general: OursGeneral
    runs: tuple[Execution, ...]

    def prior(self, properties: Mapping[str, Value], choices: Choices) -> Prior:
        """What the graph says of candidates and runs."""
        encoder = self.general.encoder
        known = encoder.number(properties)
        inputs: list[Array] = [
            encoder.properties(properties),
            encoder.rows(properties, choices),
            encoder.rows(properties, Choices.of(self.runs)),
        ]
        with torch.no_grad():
            block, candidates, records = (torch.from_numpy(part) for part in inputs)
            out = self.general.graph(block, torch.tensor([known]), candidates, records)
        return Prior(*(part.numpy() for part in out))

    def predict(self, properties: Mapping[str, Value], choices: Choices) -> Prediction:
        """Quantiles after the few-shot update."""
        runtimes = np.array([run.runtime_s for run in self.runs])
        return predict(self.prior(properties, choices), runtimes, self.general.calibration)
