"""The Forecast state."""

from __future__ import annotations

from typing import Any

from bellwren.control.forecast import forecast
from bellwren.deployment import Deployment

_DEPLOYMENT = Deployment.from_environment()


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Forecast one job and choose its workers and memory."""
    return forecast(event["job_id"], _DEPLOYMENT)
