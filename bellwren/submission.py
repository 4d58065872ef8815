"""From Python functions and items to a job document, with everything uploaded that it names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bellwren import layout
from bellwren.deployment import Deployment
from bellwren.errors import VersionMismatch
from bellwren.inputs.spec import InputSpec
from bellwren.options import Options
from bellwren.payload.items import Items, write_items
from bellwren.payload.pack import Payload, pack, python_minor
from bellwren.payload.pickler import Needs
from bellwren.store import Store, as_json

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

_LABEL = re.compile(r"[^A-Za-z0-9._-]+")


def make_document(
    kind: str, functions: Mapping[str, Callable[..., Any] | None], items: Any, options: Options, cloud: Cloud
) -> dict[str, Any]:
    """The document of a job that runs these functions.

    Everything is packed before anything is uploaded, and what is there already (named by its content) is not uploaded
    again.

    Raises:
        PayloadError: naming what cannot be shipped.
    """
    document: dict[str, Any] = {"bellwren": 1, "kind": kind, **options.fields_of_document()}
    document["output"] = {"format": "pickle", **({"uri": options.output} if options.output else {})}
    if isinstance(items, InputSpec):
        document["input"] = items.to_dict()
        payloads = _packed(functions, None)
    else:
        with write_items(items) as written:
            payloads = _packed(functions, written.needs)
            document["items_payload"] = _upload_items(written, payloads["map"], cloud.jobs_store)
    document["payload"] = {role: _upload(one, cloud.jobs_store) for role, one in payloads.items()}
    name = payloads["map"].name
    document.setdefault("name", name[:200])
    document.setdefault("algorithm", _label(name))
    return document


def _packed(functions: Mapping[str, Callable[..., Any] | None], needs: Needs | None) -> dict[str, Payload]:
    return {role: pack(function, needs=needs) for role, function in functions.items() if function is not None}


def _upload(payload: Payload, jobs: Store) -> dict[str, str]:
    key = layout.code(payload.sha256)
    if jobs.head(key) is None:
        jobs.put(key, payload.data)
    return {
        "key": key,
        "sha256": payload.sha256,
        "python": payload.python,
        "cloudpickle": payload.cloudpickle,
    }


def _upload_items(items: Items, payload: Payload, jobs: Store) -> dict[str, Any]:
    data = items.file.read()
    sha256 = hashlib.sha256(data).hexdigest()
    key = layout.code(sha256)
    if jobs.head(layout.index(key)) is None:
        jobs.put(key, data)
        # Written last: whoever finds the index finds the items too.
        jobs.put(layout.index(key), as_json(items.index.as_dict()))
    return {
        "key": key,
        "sha256": sha256,
        "python": python_minor(),
        "cloudpickle": payload.cloudpickle,
        "count": items.count,
    }


def _label(name: str) -> str:
    """A function's name as the label under which its runs are measured."""
    return _LABEL.sub("-", name).strip("-._")[:64] or "function"


def check_python(deployment: Deployment) -> None:
    """Refuse a client whose Python the workers do not run, before anything is packed.

    Raises:
        VersionMismatch: naming both.
    """
    here = python_minor()
    if deployment.python and deployment.python != here:
        raise VersionMismatch(
            f"this is Python {here}, the workers of stage {deployment.stage!r} run Python {deployment.python}, and "
            f"functions travel as byte code; run this with Python {deployment.python}, or deploy from Python {here}"
        )
