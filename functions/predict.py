"""The Forecast state; and a question that is asked before there is a job."""

from __future__ import annotations

from typing import Any

from bellwren.control.forecast import forecast, make_forecast
from bellwren.control.served import ServedModels
from bellwren.deployment import Deployment
from bellwren.store import Store
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()
_MODELS = ServedModels(Store(_DEPLOYMENT.models_bucket))


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Forecast one job, by its id or by ``{"spec", "profile"}``, and choose its workers and memory."""
    if "spec" in event:
        return make_forecast(event["spec"], event["profile"], _DEPLOYMENT, _MODELS)
    return forecast(event["job_id"], _DEPLOYMENT, _MODELS)
