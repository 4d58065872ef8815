"""The Prepare state."""

from __future__ import annotations

from typing import Any

from bellwren.control.prepare import prepare
from bellwren.deployment import Deployment
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Claim, check and measure one job."""
    execution = event["execution"]
    # Emulators may not know of redrives.
    redrives = execution.get("RedriveCount", 0)
    return prepare(execution["Input"], execution["Id"], execution["Name"], _DEPLOYMENT, redrives=redrives)
