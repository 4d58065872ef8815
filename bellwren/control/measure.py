"""Measure a job's input before it runs: how many items, objects and bytes, and whether its output place is free."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from bellwren import layout
from bellwren.control.earlier import measure_results
from bellwren.deployment import Deployment
from bellwren.errors import Fault, SpecError
from bellwren.framing import FrameWriter, Index, Kind
from bellwren.spec import JobSpec
from bellwren.spec.sections import ROLES as PICKLED_ROLES
from bellwren.store import Store, parse_uri

ROLES = ("map", "reduce", "combine", "key", "step", "train")


def measure(document: JobSpec, job_id: str, jobs: Store, deployment: Deployment) -> dict[str, Any]:
    """The job's profile: ``bytes``, ``items``, ``objects``, where items lie, its functions and settled parameters.

    Raises:
        SpecError: if the input is missing or the output place is taken.
    """
    _check_versions(document)
    _check_output(document, deployment)
    profile: dict[str, Any] = {
        "functions": {role: found for role in ROLES if (found := document.function(role))},
        "params": document.settled_params(),
    }
    if document.kind == "parameter_server":
        from bellwren.control.training import measured  # noqa: PLC0415  other jobs need none of it

        profile |= measured(document, job_id, jobs)
    if document.items_payload is not None:
        profile |= _pickled_items(document, jobs)
    elif document.kind in ("bsp", "parameter_server") and document.input is None:
        parts = document.partitions if document.kind == "bsp" else document.shards
        profile |= _inline_items(parts if isinstance(parts, list) else [None] * (parts or 0), job_id, jobs)
    elif document.kind in ("bsp", "parameter_server") and document.input and document.input.job:
        allowed = "data in S3, or a list; pass the results of the job: job.result()"
        raise SpecError(
            [Fault("input.job", f"the results of a job, in a job of kind {document.kind}", allowed)]
        )
    elif document.items is not None:
        profile |= _inline_items(document.items, job_id, jobs)
    elif document.input is not None and document.input.job is not None:
        profile |= measure_results(document, jobs)
    else:
        from bellwren.control.records import measure_records  # noqa: PLC0415  jobs over items need none of it

        profile |= measure_records(document, deployment)
        if document.kind == "sort":
            from bellwren.control.sorting import check_records  # noqa: PLC0415  as above

            check_records(document, profile["listed"])
    return profile


def _inline_items(items: list[Any], job_id: str, jobs: Store) -> dict[str, Any]:
    """Write the items of the document where workers can read ranges of them."""
    data = io.BytesIO()
    writer = FrameWriter(data.write)
    for item in items:
        writer.add(Kind.VALUE, json.dumps(item, allow_nan=False).encode())
    index = writer.close()
    key = layout.items(job_id)
    jobs.put(key, data.getvalue())
    return _items(jobs, key, "json", index)


def _pickled_items(document: JobSpec, jobs: Store) -> dict[str, Any]:
    assert document.items_payload is not None
    key = document.items_payload.key
    found = jobs.find_json(layout.index(key))
    if found is None:
        where = f"s3://{jobs.bucket}/{key}"
        allowed = "items that the client has uploaded, with their index beside them; submit the job again"
        raise SpecError([Fault("items_payload.key", f"nothing at {where}", allowed)])
    index = Index.from_dict(found)
    if index.count != document.items_payload.count:
        allowed = f"{index.count:,}, which is how many items were uploaded"
        raise SpecError([Fault("items_payload.count", f"{document.items_payload.count:,}", allowed)])
    return _items(jobs, key, "pickle", index)


def _items(jobs: Store, key: str, codec: str, index: Index) -> dict[str, Any]:
    found = jobs.head(key)
    if found is None:
        where = f"s3://{jobs.bucket}/{key}"
        allowed = "items that the client has uploaded; submit the job again"
        raise SpecError([Fault("items_payload.key", f"nothing at {where}", allowed)])
    return {
        # Workers read these very bytes, or the job ends: whoever may write there could change them meanwhile.
        "source": {"kind": "items", "codec": codec, "key": key, "etag": found.etag},
        "index": index.as_dict(),
        "items": index.count,
        "bytes": index.size_bytes,
        "objects": 1,
    }


def _check_versions(document: JobSpec) -> None:
    """This function runs the Python of the workers. What another one pickled is refused before anybody loads it."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    pickled: dict[str, Any] = {"items_payload": document.items_payload, "bundle": document.bundle}
    pickled |= {f"payload.{role}": getattr(document.payload, role, None) for role in PICKLED_ROLES}
    faults = [
        Fault(
            f"{place}.python",
            found.python,
            f"{here}, the Python of the workers: submit from that, or deploy anew",
        )
        for place, found in pickled.items()
        if found is not None and found.python != here
    ]
    if faults:
        raise SpecError(faults)


def _check_output(document: JobSpec, deployment: Deployment) -> None:
    """Parts are created, never overwritten: what an earlier job left there would pass for this one's."""
    if document.output.uri is None:
        return
    bucket, prefix = parse_uri(document.output.uri)
    if bucket != deployment.data_bucket:
        allowed = f"a place in the bucket that jobs write to: s3://{deployment.data_bucket}/..."
        raise SpecError([Fault("output.uri", document.output.uri, allowed)])
    folder = prefix if prefix.endswith("/") or not prefix else prefix + "/"
    if taken := next(iter(Store(bucket).list(folder + layout.PART)), None):
        allowed = "an empty place; name another folder, or delete the old results first"
        raise SpecError([Fault("output.uri", f"s3://{bucket}/{taken.key} is there already", allowed)])
