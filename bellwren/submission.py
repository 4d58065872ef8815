"""From Python functions and items to a job document, with everything uploaded that it names."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import pickle
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from numbers import Integral
from typing import TYPE_CHECKING, Any, BinaryIO

from bellwren import layout, spec
from bellwren.deployment import Deployment
from bellwren.errors import Fault, PayloadError, SpecError, VersionMismatch
from bellwren.inputs.spec import InputSpec
from bellwren.job import Job
from bellwren.options import Options
from bellwren.payload.envelope import header, header_bytes
from bellwren.payload.items import Items, write_items
from bellwren.payload.pack import Payload, pack, python_minor
from bellwren.payload.pickler import Needs
from bellwren.spec.work_rules import NEEDED
from bellwren.store import Store, as_json

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

_LABEL = re.compile(r"[^A-Za-z0-9._-]+")
_PIECE_BYTES = 1 << 20

_NOTHING = {"bellwren": 1, "algorithm": "wordcount", "items": []}
_NO_BUNDLE = {"key": layout.code("0" * 64), "sha256": "0" * 64, "python": "3.11", "unpacked_bytes": 0}
"""Make a whole document of requirements alone, to have them judged before pip is asked."""

Uploads = dict[str, bytes | BinaryIO]
"""What is to be stored under which key, in the order of storing."""


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


def make_document(
    kind: str,
    functions: Mapping[str, Any],
    items: Any,
    options: Options,
    cloud: Cloud,
    *,
    needs: Needs | None = None,
    **of_the_kind: Any,
) -> dict[str, Any]:
    """The document of a job that runs these functions.

    Everything is packed, and the document checked, before anything is uploaded; what is there already (named by its
    content) is not uploaded again. ``needs`` is what the functions are to bring along beyond what they and the items
    refer to; ``of_the_kind`` are fields that only jobs of this kind have.

    Raises:
        PayloadError: naming what cannot be shipped.
        SpecError: naming every option that is wrong.
    """
    document: dict[str, Any] = {"bellwren": 1, "kind": kind, **options.fields_of_document(), **of_the_kind}
    document["output"] = _output(kind, items, options)
    uploads: Uploads = {}
    with ExitStack() as stack:
        wanted = _add_items(document, items, uploads, stack)
        if needs is not None:
            wanted.update(needs)
        # Results of an earlier job may be of classes that its function brought along.
        modules = own_modules(items) if isinstance(items, Job) else ()
        packages = add_bundle(document, uploads, stack, cloud)
        payloads = {
            role: pack(function, needs=wanted, modules=modules, worker_packages=packages)
            for role, function in functions.items()
            if function is not None or role in NEEDED[kind]  # which says that None is no callable
        }
        if payloads:
            document["payload"] = {role: _reference(one) for role, one in payloads.items()}
        uploads |= {layout.code(one.sha256): one.data for one in payloads.values()}
        name = next(iter(payloads.values())).name if payloads else kind
        document.setdefault("name", name[:200])
        document.setdefault("algorithm", label(name))
        spec.from_dict(document)
        upload(uploads, cloud.jobs_store)
    return document


def _output(kind: str, items: Any, options: Options) -> dict[str, Any]:
    """Results of Python clients keep their types; a sort of lines or blocks gives them back as they are."""
    raw = kind == "sort" and isinstance(items, InputSpec) and items.format in ("lines", "blocks")
    given = {"uri": options.output} if isinstance(options.output, str) else dict(options.output or {})
    return {"format": "raw" if raw else "pickle", **given}


def by_number(field: str, given: Any) -> Any:
    """A None for each, where partitions or shards are given as a number of them; anything else as it is.

    Raises:
        SpecError: if it is a number that cannot be one of partitions.
    """
    if not isinstance(given, Integral):
        return given
    if isinstance(given, bool) or given < 0:
        raise SpecError([Fault(field, repr(given), "how many there are, or an iterable, or an input")])
    return [None] * int(given)


def parameters_payload(parameters: Mapping[str, Any], jobs: Store) -> dict[str, str]:
    """Store the first parameters of a training, named by their content; the document's field that names them.

    Raises:
        PayloadError: if a name is no text, or a value is no number or array of numbers, or not finite.
    """
    for name, value in parameters.items():
        if not isinstance(name, str) or _shape(value) is None:
            raise PayloadError(
                f"parameters[{name!r}] is a {type(value).__name__}; allowed are numbers and arrays of numbers (lists "
                "of equal length), by names that are texts"
            )
        if not _is_finite(value):
            raise PayloadError(f"parameters[{name!r}] is not finite; training starts with finite numbers")
    data = pickle.dumps(dict(parameters), 5)
    sha256 = hashlib.sha256(data).hexdigest()
    upload({layout.code(sha256): data}, jobs)
    return {
        "key": layout.code(sha256),
        "sha256": sha256,
        "python": python_minor(),
        "cloudpickle": cloudpickle_version(),
    }


def _shape(value: Any) -> tuple[int, ...] | None:
    """Of a number or an array; nothing where lists are ragged or hold no numbers."""
    if getattr(getattr(value, "dtype", None), "kind", None) in ("f", "i", "u"):
        return tuple(value.shape)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ()
    if not isinstance(value, (list, tuple)):
        return None
    shapes = {_shape(part) for part in value}
    if len(shapes) > 1 or None in shapes:
        return None
    return (len(value), *(shapes.pop() or ())) if shapes else (0,)


def _is_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    if getattr(value, "ndim", 0):
        import numpy as np  # noqa: PLC0415  there is an array, so it is loaded

        return bool(np.isfinite(value).all())
    return math.isfinite(value)


def upload(uploads: Uploads, jobs: Store) -> None:
    """Store what is not there yet."""
    for key, data in uploads.items():
        if jobs.head(key) is None:
            jobs.upload(key, data)


def _add_items(document: dict[str, Any], items: Any, uploads: Uploads, stack: ExitStack) -> Needs:
    """Name the items in the document; what they refer to is for the functions to bring."""
    if isinstance(items, InputSpec):
        document["input"] = items.to_dict()
        return Needs()
    if isinstance(items, Job):
        document["input"] = {"job": items.id}
        return Needs()
    written = stack.enter_context(write_items(items))
    sha256 = _sha256(written)
    key = layout.code(sha256)
    uploads[key] = written.file
    # Written last: whoever finds the index finds the items too.
    uploads[layout.index(key)] = as_json(written.index.as_dict())
    document["items_payload"] = {
        "key": key,
        "sha256": sha256,
        "python": python_minor(),
        "cloudpickle": cloudpickle_version(),
        "count": written.count,
    }
    return written.needs


def add_bundle(
    document: dict[str, Any], uploads: Uploads, stack: ExitStack, cloud: Cloud
) -> list[str] | None:
    """Build what the document requires, and name it there; returns the packages that workers then have, if known.

    Raises:
        PayloadError: naming what cannot be resolved, or is too large.
    """
    required = document.get("requirements")
    known = getattr(cloud, "deployment", None) and cloud.deployment.worker_packages
    if not required:
        return None if known is None else list(known)
    from bellwren.requirements import Target, build  # noqa: PLC0415  only jobs with requirements need pip

    spec.from_dict({**_NOTHING, "requirements": required, "bundle": _NO_BUNDLE})
    bundle = build(required, Target.of(cloud.deployment))
    key = layout.code(bundle.sha256)
    uploads[key] = stack.enter_context(bundle.path.open("rb"))
    document["bundle"] = bundle.reference(key)
    return None if known is None else [*known, *(one.partition("==")[0] for one in bundle.resolved)]


def bundled(document: dict[str, Any], cloud: Cloud) -> dict[str, Any]:
    """A document with the bundle of what it requires built, uploaded and named in it. Raises as ``add_bundle``."""
    complete = dict(document)
    uploads: Uploads = {}
    with ExitStack() as stack:
        add_bundle(complete, uploads, stack, cloud)
        spec.from_dict(complete)
        upload(uploads, cloud.jobs_store)
    return complete


def own_modules(job: Job) -> tuple[str, ...]:
    """Modules of the user's own that a job's functions brought along, as far as they are importable here."""
    found = job.spec()
    references = (found or {}).get("payload", {}).values()
    names = {name for one in references for name in _modules_of(job.jobs_store, one["key"])}
    return tuple(sorted(name for name in names if _is_importable(name)))


def _modules_of(jobs: Store, key: str) -> list[str]:
    """Names of the modules in a stored payload, of which only the header is read."""
    head = jobs.get_range(key, 0, _PIECE_BYTES)
    size = header_bytes(head)
    if size > len(head):
        head = jobs.get_range(key, 0, size)
    return [module["name"] for module in header(head)[0]["modules"]]


def _is_importable(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _reference(payload: Payload) -> dict[str, str]:
    return {
        "key": layout.code(payload.sha256),
        "sha256": payload.sha256,
        "python": payload.python,
        "cloudpickle": payload.cloudpickle,
    }


def cloudpickle_version() -> str:
    """The version with which functions and items are pickled here."""
    import cloudpickle  # noqa: PLC0415  loaded by the pickler anyway

    return str(cloudpickle.__version__)


def _sha256(items: Items) -> str:
    digest = hashlib.sha256()
    while piece := items.file.read(_PIECE_BYTES):
        digest.update(piece)
    items.file.seek(0)
    return digest.hexdigest()


def label(name: str) -> str:
    """A function's name as the label under which its runs are measured."""
    return _LABEL.sub("-", name).strip("-._")[:64] or "function"
