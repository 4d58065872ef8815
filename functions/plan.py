"""The Plan state."""

from __future__ import annotations

from typing import Any

from bellwren.control.plan import plan
from bellwren.deployment import Deployment
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Say what a job does next."""
    return plan(event, _DEPLOYMENT)
