"""Input in S3: what Prepare measures of it, and how Plan cuts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from bellwren.deployment import Deployment
from bellwren.engine.capacity import vcpus
from bellwren.errors import Fault, InputError, SpecError
from bellwren.inputs.listing import select_objects
from bellwren.inputs.planning import plan_chunks
from bellwren.inputs.source import InputObject, RangeReader
from bellwren.inputs.spec import InputSpec
from bellwren.spec import JobSpec
from bellwren.store import Entry, Store

Document = dict[str, Any]

_SKIPPED_SHOWN = 100


Stores = Callable[[str], Store]
"""From a bucket's name to the bucket."""


def measure_records(document: JobSpec, deployment: Deployment, stores: Stores = Store) -> Document:
    """List the input: ``objects``, ``bytes``, and the versions of its objects that the job will read.

    ``stores`` is how buckets are reached; by default with the credentials of the environment.

    Raises:
        SpecError: if the bucket is none that jobs may read, or nothing is there.
    """
    assert document.input is not None
    spec = InputSpec.from_dict(document.input.to_dict())
    if spec.bucket not in deployment.readable_buckets:
        allowed = f"a bucket that this deployment reads: {', '.join(deployment.readable_buckets)}"
        raise SpecError([Fault(f"input.{spec.format}", spec.uri, allowed)])
    try:
        chosen = select_objects(spec, _listed(spec, stores(spec.bucket)), output=document.output.uri)
    except InputError as error:
        raise SpecError([Fault(f"input.{spec.format}", spec.uri, str(error))]) from error
    objects = [[one.key, one.size, one.etag] for one in chosen.objects]
    return {
        "input": spec.to_dict(),
        "listed": objects,
        "objects": len(objects),
        "skipped": list(chosen.skipped[:_SKIPPED_SHOWN]),
        "bytes": sum(size for _, size, _ in objects),
        "items": None,
    }


def _listed(spec: InputSpec, store: Store) -> Iterable[Entry]:
    """What lies at the input's address; what only begins with the same letters is not even listed."""
    if not spec.key or spec.key.endswith("/"):
        return store.list_verbatim(spec.key)
    found = store.head(spec.key)
    return [found] if found else store.list_verbatim(spec.key + "/")


def cut_records(
    profile: Document, workers: int, memory_mb: int, **finer: int
) -> tuple[Document, Document, int]:
    """Description of the input, the table of chunks, and their number. ``finer``: options of ``plan_chunks``.

    Raises:
        InputError: if an object is gone or changed since it was listed.
    """
    spec = InputSpec.from_dict(profile["input"])
    objects = [InputObject(*row) for row in profile["listed"]]
    table = asyncio.run(
        plan_chunks(reader_of(spec), spec, objects, slots=workers * vcpus(memory_mb), **finer)
    )
    return {"kind": "records", "input": profile["input"]}, table.as_dict(), len(table)


def reader_of(spec: InputSpec) -> RangeReader:
    """Storage for the planner's few reads of an input."""
    return _Reader(Store(spec.bucket).get_range)


class _Reader:
    """Storage for the planner's few reads."""

    def __init__(self, get_range: Callable[..., bytes]) -> None:
        self._get_range = get_range

    async def get_range(self, bucket: str, key: str, start: int, end: int, *, etag: str) -> bytes:
        """Bytes ``[start, end)`` of a version of an object."""
        return await asyncio.to_thread(self._get_range, key, start, end, etag=etag)
