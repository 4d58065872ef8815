"""Bellwren: Python at scale on AWS with no cluster, that sizes each job itself.

The names below are loaded on first use, so that a worker which imports ``bellwren.engine`` pays for nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Cloud": "cloud",
    "Forecast": "forecast",
    "Job": "job",
    "Options": "options",
    "connect": "cloud",
    "BellwrenError": "errors",
    "InputError": "errors",
    "JobCancelled": "errors",
    "JobFailed": "errors",
    "NestedJob": "errors",
    "NotDeployed": "errors",
    "PayloadError": "errors",
    "SpecError": "errors",
    "TaskError": "errors",
    "TaskFailure": "errors",
    "VersionMismatch": "errors",
    "InputSpec": "inputs.spec",
    "blocks": "inputs.declare",
    "csv": "inputs.declare",
    "item_id": "current",
    "lines": "inputs.declare",
    "objects": "inputs.declare",
    "parquet": "inputs.declare",
}

if TYPE_CHECKING:
    from bellwren.cloud import Cloud, connect
    from bellwren.current import item_id
    from bellwren.errors import (
        BellwrenError,
        InputError,
        JobCancelled,
        JobFailed,
        NestedJob,
        NotDeployed,
        PayloadError,
        SpecError,
        TaskError,
        TaskFailure,
        VersionMismatch,
    )
    from bellwren.forecast import Forecast
    from bellwren.inputs.declare import blocks, csv, lines, objects, parquet
    from bellwren.inputs.spec import InputSpec
    from bellwren.job import Job
    from bellwren.options import Options

__all__ = [
    "BellwrenError",
    "Cloud",
    "Forecast",
    "InputError",
    "InputSpec",
    "Job",
    "JobCancelled",
    "JobFailed",
    "NestedJob",
    "NotDeployed",
    "Options",
    "PayloadError",
    "SpecError",
    "TaskError",
    "TaskFailure",
    "VersionMismatch",
    "blocks",
    "connect",
    "csv",
    "item_id",
    "lines",
    "objects",
    "parquet",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bellwren' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bellwren.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
