"""The Finish state, and the end of executions that never reached it."""

from __future__ import annotations

from typing import Any

from bellwren.control.finish import finish
from bellwren.deployment import Deployment
from functions.log import logged

_DEPLOYMENT = Deployment.from_environment()


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Write what is left of a job: its final status, its record, its report."""
    return finish(event, _DEPLOYMENT)
