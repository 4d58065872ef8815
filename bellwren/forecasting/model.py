"""A runtime model in service: one ONNX file and its card, one call for all candidates of a job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort

from bellwren.forecasting.card import Card, ModelError, digest
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.update import Prediction, Prior, predict
from bellwren.records.execution import Execution, Value

INPUTS = ("properties", "known", "candidates", "records")
OUTPUTS = ("mean", "variance", "noise", "record_mean", "record_noise", "cross", "record_covariance")
"""Of every family's file; see `bellwren.forecasting.update.Prior`."""


@dataclass(frozen=True)
class Outlook:
    """Runtimes of candidates, and what is unusual about the question."""

    prediction: Prediction
    extrapolated: tuple[bool, ...]
    """For each candidate: whether its scale-out lies outside of what training and the runs shown have seen."""
    flags: tuple[str, ...]
    """Unseen categories, numbers out of range, missing or unknown properties, in words."""
    context_known: bool
    """Whether runs of this very context were in training or are shown."""


class RuntimeModel:
    """A model that was checked to be the file its card speaks of, and to answer."""

    def __init__(self, model: bytes, card: Card, *, threads: int = 1) -> None:
        """Raises `ModelError` if the file is not the card's, cannot be loaded, or fails a trial."""
        if digest(model) != card.sha256:
            raise ModelError(
                f"model {card.version} of {card.algorithm}: its checksum is not that of its card"
            )
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ModelError(f"model {card.version} of {card.algorithm} cannot be loaded: {error}") from error
        names = tuple(value.name for value in self._session.get_inputs())
        if set(names) - set(INPUTS) or not {"candidates", "records"} <= set(names):
            raise ModelError(
                f"model {card.version} of {card.algorithm} has inputs {names}; expected {INPUTS}"
            )
        self._inputs = frozenset(names)
        self.card = card
        self._try()

    @staticmethod
    def load(model: bytes, card: bytes | str, *, threads: int = 1) -> RuntimeModel:
        """From the two files' contents. Raises `ModelError`."""
        try:
            document: Any = json.loads(card)
        except ValueError as error:
            raise ModelError(f"card.json is not JSON: {error}") from error
        return RuntimeModel(model, Card.from_dict(document), threads=threads)

    def outlook(
        self, properties: Mapping[str, Value], choices: Choices, runs: Sequence[Execution] = ()
    ) -> Outlook:
        """Forecast all candidates of one context in one call, after runs of it that were not in training.

        Raises `ModelError` if the model answers with what is not finite.
        """
        runtimes = np.array([run.runtime_s for run in runs], dtype=np.float64)
        try:
            prediction = predict(
                self.prior(properties, choices, Choices.of(runs)), runtimes, self.card.calibration
            )
        except ValueError as error:
            raise ModelError(f"model {self.card.version} of {self.card.algorithm}: {error}") from error
        schema, seen = self.card.encoder.schema, [run.workers for run in runs]
        low, high = min([schema.workers_low, *seen]), max([schema.workers_high, *seen])
        return Outlook(
            prediction,
            tuple(((choices.workers < low) | (choices.workers > high)).tolist()),
            tuple(schema.flags(properties)),
            self.card.encoder.number(properties) >= 0 or bool(runs),
        )

    def prior(self, properties: Mapping[str, Value], choices: Choices, runs: Choices) -> Prior:
        """What the file answers, before the few-shot update."""
        encoder = self.card.encoder
        known = encoder.number(properties)
        return self.run(
            encoder.properties(properties),
            known,
            encoder.rows(properties, choices),
            encoder.rows(properties, runs),
        )

    def run(self, properties: Array, known: int, candidates: Array, records: Array) -> Prior:
        """The file on encoded inputs: [1, P], a context's number or -1, [B, R], [n, R]. Raises `ModelError`."""
        given = {
            "properties": properties,
            "known": np.array([known], dtype=np.int64),
            "candidates": candidates,
            "records": records,
        }
        feed = {name: value for name, value in given.items() if name in self._inputs}
        try:
            return Prior(*self._session.run(list(OUTPUTS), feed))
        except Exception as error:  # its exceptions have no base of their own
            raise ModelError(f"model {self.card.version} of {self.card.algorithm} fails: {error}") from error

    def _try(self) -> None:
        """A forecast of one candidate in the middle of the training range, with and without a run."""
        schema = self.card.encoder.schema
        choices = Choices.grid([(float(np.sqrt(schema.workers_low * schema.workers_high)), None)])
        for runs in (Choices.grid([]), choices):
            try:
                prior = self.prior({}, choices, runs)
            except Exception as error:
                raise ModelError(
                    f"model {self.card.version} of {self.card.algorithm} fails a trial: {error}"
                ) from error
            if not all(np.all(np.isfinite(part)) for part in vars(prior).values()):
                raise ModelError(
                    f"model {self.card.version} of {self.card.algorithm} answers what is not finite"
                )
