"""Input in S3: what Prepare measures of it, and how Plan cuts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from bellwren.control.characteristics import Sample, describe, take_sample
from bellwren.control.trial import seconds_per_byte
from bellwren.deployment import Deployment
from bellwren.engine.capacity import vcpus
from bellwren.errors import Fault, InputError, SpecError
from bellwren.inputs.cuttable import cut_rule
from bellwren.inputs.listing import select_objects
from bellwren.inputs.planning import plan_chunks
from bellwren.inputs.source import InputObject, RangeReader
from bellwren.inputs.spec import InputSpec
from bellwren.spec import JobSpec
from bellwren.store import Entry, Store

Document = dict[str, Any]

_SKIPPED_SHOWN = 100
_PLAIN = ("utf-8", "ascii", "us-ascii", "latin-1", "iso-8859-1", "cp1252")


Stores = Callable[[str], Store]
"""From a bucket's name to the bucket."""


def measure_records(document: JobSpec, deployment: Deployment, stores: Stores = Store) -> Document:
    """List the input: ``objects``, ``bytes``, and the versions of its objects that the job will read.

    With them whether large objects are ``divisible``, and for a built-in algorithm what its ``data`` is like and how
    many ``seconds_per_byte`` it took on a sample.
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
        allowed = f"an object, or a prefix below which there are some; {error}"
        raise SpecError([Fault(f"input.{spec.format}", spec.uri, allowed)]) from error
    objects = [[one.key, one.size, one.etag] for one in chosen.objects]
    sample = _sample(document, spec, objects, stores)
    return {
        "input": spec.to_dict(),
        "divisible": _divisible(spec) and not sample.compressed,
        "data": describe(document.algorithm, document.settled_params(), sample),
        "seconds_per_byte": seconds_per_byte(document.algorithm, document.settled_params(), sample),
        "listed": objects,
        "objects": len(objects),
        "skipped": list(chosen.skipped[:_SKIPPED_SHOWN]),
        "bytes": sum(size for _, size, _ in objects),
        "items": None,
    }


def _sample(document: JobSpec, spec: InputSpec, objects: list[list[Any]], stores: Stores) -> Sample:
    """Of what built-in algorithms read as lines; the data of own functions is described by who wrote them."""
    if not document.builtin or spec.format not in ("lines", "csv") or _odd(spec):
        return Sample(())
    store = stores(spec.bucket)
    try:
        return take_sample(objects, lambda key, start, end, etag: store.get_range(key, start, end, etag=etag))
    except InputError:
        # An object that has changed since it was listed fails the job by name when it is read; here it is not known.
        return Sample(())


def _odd(spec: InputSpec) -> bool:
    """Encodings and line ends that a sample would have to know."""
    return spec.newline is not None or (spec.encoding or "utf-8").lower().replace("_", "-") not in _PLAIN


def _divisible(spec: InputSpec) -> bool:
    """Whether objects can be cut at records, as far as that is known without looking at them."""
    if spec.format in ("objects", "lines", "csv"):
        whole = spec.format == "objects" or spec.compression not in ("auto", "none")
        return not whole and cut_rule(spec) is not None
    return True


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
