"""The local cloud: MiniStack, an AWS emulator, with Bellwren deployed on it by the real ``cdk deploy``.

``start()`` brings it up and returns a :class:`LocalCloud` with endpoint and credentials, ``running()`` finds
it from another process, ``stop()`` ends it. On the command line: ``bellwren local start|stop|status|env``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "LocalCloud": "access",
    "LocalCloudError": "errors",
    "Status": "status",
    "look": "status",
    "running": "cloud",
    "start": "cloud",
    "stop": "cloud",
}

if TYPE_CHECKING:
    from bellwren.local.access import LocalCloud
    from bellwren.local.cloud import running, start, stop
    from bellwren.local.errors import LocalCloudError
    from bellwren.local.status import Status, look

__all__ = ["LocalCloud", "LocalCloudError", "Status", "look", "running", "start", "stop"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bellwren.local' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bellwren.local.{_HOME[name]}"), name)
