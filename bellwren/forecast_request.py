"""From what a user knows of a job to the question that the prediction function answers.

A document is measured as Prepare will measure it, with the user's own credentials and without starting anything; of an
algorithm alone the user says how much data there is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sized
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bellwren import layout, spec
from bellwren.algorithms.parameters import ALGORITHMS
from bellwren.control.earlier import measure_results
from bellwren.control.records import measure_records
from bellwren.errors import BellwrenError, Fault, SpecError
from bellwren.forecast import Forecast
from bellwren.inputs.spec import InputSpec
from bellwren.job import Job
from bellwren.options import Options
from bellwren.spec import JobSpec, strict_json
from bellwren.spec.inspection import Reading
from bellwren.spec.validate import validate

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

Document = dict[str, Any]

_ASKED = (
    "name",
    "algorithm",
    "kind",
    "workers",
    "memory_mb",
    "deadline_s",
    "budget_usd",
    "objective",
    "context",
)
"""Fields of a document that a forecast depends on."""
_MEASURED = ("bytes", "items", "objects", "params", "data", "divisible", "seconds_per_byte")
"""Fields of a profile that a forecast depends on."""
_SOMEWHERE = "s3://bucket/key"
_OWN_CODE = {"code": {"uri": "s3://bucket/code.zip", "sha256": "0" * 64}, "map": "module:function"}


def question(
    cloud: Cloud,
    what: Mapping[str, Any] | str | Path,
    given: Any,
    options: Options,
    *,
    size_bytes: float | None = None,
    items: int | None = None,
) -> Document:
    """``{"spec", "profile"}``, as the prediction function takes it.

    Args:
        cloud: where inputs lie.
        what: a job document, the path of one, or the name of an algorithm.
        given: the input, for an algorithm by name: as for ``cloud.map``, None if there is none yet.
        options: for an algorithm by name.
        size_bytes: how much data there would be, for an algorithm by name without an input.
        items: how many items there would be, likewise.

    Raises:
        SpecError: naming what is wrong.
    """
    if isinstance(what, Path) or (isinstance(what, str) and what.endswith(".json")):
        return _of_document(strict_json.read(Path(what).read_bytes()), cloud)
    if not isinstance(what, str):
        return _of_document(strict_json.adopt(what), cloud)
    sizes = _sizes(size_bytes, items)
    if isinstance(given, InputSpec):
        given = {"input": given.to_dict()}
    elif isinstance(given, Job):
        given = {"input": {"job": given.id}}
    elif isinstance(given, Sized):
        given, sizes = None, {"items": len(given), **sizes}
    elif given is not None:
        raise SpecError(
            [Fault("input", type(given).__name__, "bellwren.lines(...), a job, or a list of items")]
        )
    checked = spec.from_dict(_document(what, given, options))
    profile = _profile(checked, cloud) if given else {"bytes": 0, "items": None, **sizes}
    return _question(checked, profile)


def ask(functions: Any, name: str, asked: Document) -> Forecast:
    """Have the prediction function answer.

    Args:
        functions: a boto3 client of Lambda.
        name: of the prediction function.
        asked: what `question` made.

    Raises:
        BellwrenError: if the function fails.
    """
    called = functions.invoke(FunctionName=name, Payload=json.dumps(asked, allow_nan=False).encode())
    answer = json.loads(called["Payload"].read())
    if called.get("FunctionError"):
        raise BellwrenError(
            f"the prediction function {name!r} failed: {answer.get('errorType')}: {answer.get('errorMessage')}; "
            "its log says more"
        )
    return Forecast(answer)


def _of_document(reading: Reading, cloud: Cloud) -> Document:
    if isinstance(reading.value, dict):
        # Packages change no forecast, and building them is work for the job itself.
        known = {name: one for name, one in reading.value.items() if name not in ("requirements", "bundle")}
        reading = replace(reading, value=known)
    checked = validate(reading)
    return _question(checked, _profile(checked, cloud))


def _question(checked: JobSpec, profile: Document) -> Document:
    profile = {"params": checked.settled_params(), **profile}
    document = checked.to_dict()
    return {
        "spec": {name: document[name] for name in _ASKED if name in document},
        "profile": {name: profile[name] for name in _MEASURED if name in profile},
    }


def _document(algorithm: str, given: Document | None, options: Options) -> Document:
    """A whole document of an algorithm, to have the options judged; without an input, one that stands for any."""
    document = {"bellwren": 1, "algorithm": algorithm, **options.fields_of_document()}
    document = {name: value for name, value in document.items() if name != "requirements"}
    if algorithm not in ALGORITHMS:
        return {**document, "kind": "map", **_OWN_CODE, **(given or {"items": []})}
    return {**document, **(given or {"input": {ALGORITHMS[algorithm].inputs[0]: _SOMEWHERE}})}


def _sizes(size_bytes: float | None, items: int | None) -> Document:
    """Raises SpecError for a size that is none."""
    given = {"bytes": size_bytes, "items": items}
    faults = [
        Fault(name, repr(value)[:80], "a number of at least 0")
        for name, value in given.items()
        if value is not None and not _is_size(value)
    ]
    if faults:
        raise SpecError(faults)
    return {name: int(value) for name, value in given.items() if value is not None}


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e300


def _profile(document: JobSpec, cloud: Cloud) -> Document:
    """What Prepare would measure."""
    if document.items_payload is not None:
        entry = cloud.jobs_store.head(document.items_payload.key)
        return {"items": document.items_payload.count, "bytes": entry.size if entry else 0}
    if document.input is None:
        return _listed(document)
    if document.input.job is not None:
        return _results(document, document.input.job, cloud)
    return measure_records(document, cloud.deployment, cloud.store)


def _listed(document: JobSpec) -> Document:
    """Items, partitions or shards that stand in the document itself, or how many there are."""
    parts = {"bsp": document.partitions, "parameter_server": document.shards}.get(
        document.kind, document.items
    )
    listed = parts if isinstance(parts, list) else [None] * (parts or 0)
    return {"items": len(listed), "bytes": sum(len(json.dumps(one)) for one in listed)}


def _results(document: JobSpec, earlier: str, cloud: Cloud) -> Document:
    status = cloud.jobs_store.find_json(layout.status(earlier))
    if status is None or status["status"] != "SUCCEEDED":
        found = f"job {earlier}, which {'is ' + status['status'] if status else 'there is not'}"
        allowed = "a job that has succeeded: how much data its results are is known then"
        raise SpecError([Fault("input.job", found, allowed)])
    return measure_results(document, cloud.jobs_store, cloud.store)
