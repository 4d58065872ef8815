"""The models in service: loaded once, exchanged when another version becomes current, kept when the new one is bad."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bellwren import layout
from bellwren.store import Store

if TYPE_CHECKING:
    from bellwren.forecasting.model import RuntimeModel

_LOOK_EVERY_S = 5.0
_log = logging.getLogger(__name__)


@dataclass
class _Served:
    model: RuntimeModel | None = None
    etag: str = ""
    """Of the ``current.json`` that was followed last, whether its model was good or not."""
    looked_at: float = -_LOOK_EVERY_S


class ServedModels:
    """The current model of each algorithm, for one process."""

    def __init__(self, models: Store) -> None:
        self._store = models
        self._served: dict[str, _Served] = {}

    def get(self, algorithm: str) -> RuntimeModel | None:
        """The model in service, or None where there is none (yet). Looks for a new version every few seconds.

        A version that is missing, damaged or does not answer is passed over: the one before goes on serving, also in
        a process that never had it.
        """
        served = self._served.setdefault(algorithm, _Served())
        if time.monotonic() - served.looked_at < _LOOK_EVERY_S:
            return served.model
        served.looked_at = time.monotonic()
        try:
            found = self._store.find_with_etag(layout.current_model(algorithm))
        except Exception:
            if served.model is None:
                raise
            # That it can't be asked whether there is a newer one is no reason to answer without the one at hand.
            _log.exception(
                "the current model of %r can't be looked up; the one in service goes on", algorithm
            )
            return served.model
        if found is None:
            served.model, served.etag = None, ""
        elif found[1] != served.etag:
            served.etag = found[1]
            served.model = (
                self._load(algorithm, found[0], "version")
                or served.model
                or self._load(algorithm, found[0], "before")
            )
        return served.model

    def _load(self, algorithm: str, current: bytes, which: str) -> RuntimeModel | None:
        """The version that ``current.json`` names in service, or the one that it names as served ``before``."""
        from bellwren.forecasting.model import RuntimeModel  # noqa: PLC0415  onnxruntime, where there is a model

        try:
            version = json.loads(current)[which]
            if version is None:
                return None
            model = self._store.get(layout.model(algorithm, version))
            return RuntimeModel.load(model, self._store.get(layout.model_card(algorithm, version)))
        except Exception:  # noqa: BLE001  whatever is wrong with a new model, the old one serves
            _log.exception(
                "the model of %r that current.json names as %r is bad and is passed over", algorithm, which
            )
            return None
