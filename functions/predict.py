"""The Forecast state."""

from __future__ import annotations

from typing import Any

from bellwren.control.forecast import forecast
from bellwren.control.served import ServedModels
from bellwren.deployment import Deployment
from bellwren.store import Store
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()
_MODELS = ServedModels(Store(_DEPLOYMENT.models_bucket))


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Forecast one job and choose its workers and memory."""
    return forecast(event["job_id"], _DEPLOYMENT, _MODELS)
