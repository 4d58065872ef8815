"""The Conclude state."""

from __future__ import annotations

from typing import Any

from bellwren.control.conclude import conclude
from bellwren.deployment import Deployment
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Fail the execution of a job that did not succeed, or, redriven, go on with the job."""
    execution = event["execution"]
    # Emulators may not know of redrives.
    return conclude(event["job_id"], execution["Id"], execution.get("RedriveCount", 0), _DEPLOYMENT)
