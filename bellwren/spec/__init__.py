"""The job document: from bytes to a :class:`JobSpec`, or to every fault that is in them.

The names below are loaded on first use, because they need pydantic, which workers never import;
``sizes``, ``uris`` and ``identity`` need only the standard library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "JobSpec": "document",
    "KINDS": "document",
    "MAX_DOCUMENT_BYTES": "inspection",
    "from_dict": "validate",
    "parse": "validate",
    "validate": "validate",
}

if TYPE_CHECKING:
    from bellwren.spec.document import KINDS, JobSpec
    from bellwren.spec.inspection import MAX_DOCUMENT_BYTES
    from bellwren.spec.validate import from_dict, parse, validate

__all__ = ["KINDS", "MAX_DOCUMENT_BYTES", "JobSpec", "from_dict", "parse", "validate"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bellwren.spec' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bellwren.spec.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
