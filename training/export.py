"""From a trained model to a file that may be published: one ONNX file, checked against the model, and its card."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bellwren.forecasting.card import Card, ModelError, digest
from bellwren.forecasting.encoders import Encoder
from bellwren.forecasting.features import Array, Choices
from bellwren.forecasting.model import INPUTS, OUTPUTS, RuntimeModel
from bellwren.forecasting.update import Calibration, Prior

BATCHES = (0, 1, 2, 7, 300)
RECORDS = (0, 1, 2, 6)
BOUND = 1e-5
"""Largest relative difference between file and model that is let through."""
OPSET = 18
_PACKAGES = ("bellwren", "numpy", "torch", "onnx", "onnxruntime")


@dataclass(frozen=True)
class Exportable:
    """A trained model with what its file and card need."""

    family: str
    algorithm: str
    graph: nn.Module
    """Takes `INPUTS`, answers `OUTPUTS`."""
    encoder: Encoder
    calibration: Calibration
    records: int
    contexts: int


@dataclass(frozen=True)
class Published:
    """What is put beside each other in the models bucket."""

    model: bytes
    card: Card


def export(
    trained: Exportable,
    *,
    version: str = "",
    mre: float | None = None,
    cross_validation: Mapping[str, Any] | None = None,
) -> Published:
    """Write the file, check it against the model on many batches, and load it as the prediction function will.

    Raises `ModelError` if they differ by more than `BOUND`, or if the file is refused in service.
    """
    now = datetime.now(UTC)
    model = to_onnx(trained)
    card = Card(
        algorithm=trained.algorithm,
        family=trained.family,
        version=version or f"{now:%Y%m%dT%H%M%S.%fZ}-{digest(model)[:8]}",
        trained_at=now.isoformat(timespec="seconds"),
        encoder=trained.encoder,
        calibration=trained.calibration,
        records=trained.records,
        contexts=trained.contexts,
        sha256=digest(model),
        mre=mre,
        cross_validation=cross_validation or {},
        versions={name: metadata.version(name) for name in _PACKAGES if _installed(name)},
    )
    gap = largest_gap(trained, RuntimeModel(model, card))
    if not gap <= BOUND:
        raise ModelError(
            f"the ONNX file of {trained.algorithm} is off by {gap:.2g}; at most {BOUND:g} is let through"
        )
    checked = Card(**{**vars(card), "gap": gap})
    RuntimeModel.load(model, _json(checked))
    return Published(model, checked)


def to_onnx(trained: Exportable) -> bytes:
    """One self-contained file with dynamic numbers of candidates and records."""
    graph = trained.graph.eval()
    properties, known, candidates, records = sample(trained, 5, 3)
    buffer = io.BytesIO()  # the tracing exporter writes to a file object as well as to a path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (properties, known, candidates, records),
            buffer,  # type: ignore[arg-type]
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes={"candidates": {0: "candidates"}, "records": {0: "records"}},
            opset_version=OPSET,
            dynamo=False,
            external_data=False,
        )
    return buffer.getvalue()


def sample(trained: Exportable, candidates: int, records: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Inputs of the right shapes with contents like those of training."""
    rng = np.random.default_rng(seed)
    schema = trained.encoder.schema
    block = trained.encoder.properties({})
    if trained.encoder.coding == "magnitude":
        block = block + rng.normal(size=block.shape) * 0.3

    def rows(count: int) -> Array:
        low, high = np.log(schema.workers_low / 1.5), np.log(schema.workers_high * 1.5)
        workers = np.exp(rng.uniform(low, high, size=count)).round().clip(1)
        memory = rng.choice([512.0, 1769.0, 4000.0, 10240.0], size=count)
        return trained.encoder.rows({}, Choices(workers, memory, memory / 1769.0))

    parts = (
        block,
        np.array([rng.integers(-1, max(1, len(schema.contexts)))]),
        rows(candidates),
        rows(records),
    )
    return tuple(torch.from_numpy(np.ascontiguousarray(part)) for part in parts)


def largest_gap(trained: Exportable, served: RuntimeModel) -> float:
    """Largest relative difference of runtimes and of standard deviations between the model and its file."""
    gap = 0.0
    for seed, (batch, records) in enumerate((batch, records) for batch in BATCHES for records in RECORDS):
        inputs = sample(trained, batch, records, seed)
        with torch.no_grad():
            native = Prior(*(part.double().numpy() for part in trained.graph(*inputs)))
        block, known, candidates, runs = (part.numpy() for part in inputs)
        file = served.run(block, int(known[0]), candidates, runs)
        gap = max(gap, _gap(native, file))
    return gap


def _gap(native: Prior, file: Prior) -> float:
    """Means are logarithms, so their difference is relative; variances are compared as deviations, with the noise."""
    if any(
        np.shape(a) != np.shape(b) for a, b in zip(vars(native).values(), vars(file).values(), strict=True)
    ):
        return float("inf")
    scale = float(native.noise.min(initial=1.0)) if native.noise.size else 1e-4
    gaps = [np.abs(native.mean - file.mean), np.abs(native.record_mean - file.record_mean)]
    for one, other in ((native.variance, file.variance), (native.noise, file.noise)):
        gaps.append(np.abs(one - other) / (2 * np.maximum(one, scale)))
    gaps.append(
        np.abs(native.record_noise - file.record_noise) / (2 * np.maximum(native.record_noise, 1e-12))
    )
    for one, other in ((native.cross, file.cross), (native.record_covariance, file.record_covariance)):
        gaps.append(np.abs(one - other) / np.maximum(np.abs(one), scale))
    return max((float(part.max()) for part in gaps if part.size), default=0.0)


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _json(card: Card) -> str:
    return json.dumps(card.as_dict(), allow_nan=False)
