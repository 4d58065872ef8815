"""The card of a model: what it was trained on, how well it did, what its inputs mean. Stands beside the ONNX file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bellwren.errors import BellwrenError
from bellwren.forecasting.encoders import Encoder
from bellwren.forecasting.features import Schema
from bellwren.forecasting.update import Calibration

CARD = 1


class ModelError(BellwrenError):
    """A model file or its card is damaged, does not belong together, or answers with nonsense. It is not used."""


@dataclass(frozen=True)
class Card:
    """Everything about a model but its weights."""

    algorithm: str
    family: str
    version: str
    """Names the model; sorts by time of training."""
    trained_at: str
    """ISO 8601, UTC."""
    encoder: Encoder
    calibration: Calibration
    records: int
    contexts: int
    sha256: str
    """Of the ONNX file."""
    mre: float | None = None
    """Mean relative error in per cent, cross-validated over whole contexts; None: too few contexts to tell."""
    cross_validation: Mapping[str, Any] = field(default_factory=dict)
    """Errors of every family tried, and why this one was taken."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the packages that made the file."""
    gap: float = 0.0
    """Largest relative difference found between the ONNX file and the model it was made from."""

    def as_dict(self) -> dict[str, Any]:
        """The content of ``card.json``."""
        return {
            "bellwren_card": CARD,
            "algorithm": self.algorithm,
            "family": self.family,
            "version": self.version,
            "trained_at": self.trained_at,
            "records": self.records,
            "contexts": self.contexts,
            "mre": self.mre,
            "cross_validation": dict(self.cross_validation),
            "coding": self.encoder.coding,
            "kinds": dict(self.encoder.kinds),
            "schema": self.encoder.schema.as_dict(),
            "calibration": self.calibration.as_dict(),
            "sha256": self.sha256,
            "gap": self.gap,
            "versions": dict(self.versions),
        }

    @staticmethod
    def from_dict(document: Any) -> Card:
        """Read a card. Raises `ModelError` for what is none."""
        if not isinstance(document, dict) or document.get("bellwren_card") != CARD:
            found = document.get("bellwren_card") if isinstance(document, dict) else type(document).__name__
            raise ModelError(f"card.json: bellwren_card is {found!r}; this version reads {CARD}")
        try:
            schema = Schema.from_dict(document["schema"])
            return Card(
                algorithm=document["algorithm"],
                family=document["family"],
                version=document["version"],
                trained_at=document["trained_at"],
                encoder=Encoder(document["coding"], schema, document["algorithm"], document["kinds"]),
                calibration=Calibration.from_dict(document["calibration"]),
                records=document["records"],
                contexts=document["contexts"],
                sha256=document["sha256"],
                mre=document["mre"],
                cross_validation=document["cross_validation"],
                versions=document["versions"],
                gap=document["gap"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"card.json is damaged: {type(error).__name__}: {error}") from error


def digest(model: bytes) -> str:
    """Checksum of a model file, as it stands in its card."""
    return hashlib.sha256(model).hexdigest()
