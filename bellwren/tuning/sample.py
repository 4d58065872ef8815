"""A job on part of its input: evenly chosen items, or the beginnings of its objects of lines."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bellwren.control.records import measure_records
from bellwren.errors import Fault, SpecError
from bellwren.spec import JobSpec
from bellwren.spec.uris import parse_s3_uri

if TYPE_CHECKING:
    from bellwren.cloud import Cloud

Document = dict[str, Any]

ITEMS = 200
SAMPLE_BYTES = 64_000_000
_FOLDER = "tune/"


@dataclass(frozen=True)
class Sample:
    """A document that runs on part of the input."""

    document: Document
    """Without what is tuned (``workers``, ``memory_mb``) and what must not decide (deadline, budget, output folder)."""
    share: float
    """Of the whole input's items or bytes, above 0 and at most 1."""
    written: tuple[str, ...] = ()
    """Keys in the data bucket that hold the sample; to be deleted after the runs."""


def sampled(job: JobSpec, cloud: Cloud, share: float | None) -> Sample:
    """The job on about ``share`` of its input; by default on at most 200 items or 64 MB.

    Raises:
        SpecError: if there is no sampling such an input: anything but items in the document, and plain lines.
    """
    if share is not None and not 0 < share <= 1:
        raise SpecError([Fault("sample", str(share), "a number greater than 0, at most 1")])
    document = job.to_dict()
    for name in ("workers", "memory_mb", "deadline_s", "budget_usd"):
        document.pop(name, None)
    document["output"] = {
        name: value for name, value in (document.get("output") or {}).items() if name != "uri"
    }
    if share == 1:
        return Sample(document, 1.0)
    if job.items is not None:
        return _of_items(document, share)
    if job.input is None or "lines" not in job.input.to_dict():
        return _whole(document, job, share)
    return _of_lines(document, job, cloud, share)


def _of_items(document: Document, share: float | None) -> Sample:
    items = document["items"]
    many = min(len(items), max(1, round(share * len(items)) if share else ITEMS))
    chosen = [items[at * len(items) // many] for at in range(many)]
    return Sample({**document, "items": chosen}, many / max(1, len(items)))


def _of_lines(document: Document, job: JobSpec, cloud: Cloud, share: float | None) -> Sample:
    measured = measure_records(job, cloud.deployment, cloud.store)
    listed, total = measured["listed"], sum(size for _, size, _ in measured["listed"])
    if share is None:
        share = min(1.0, SAMPLE_BYTES / max(1, total))
    if share == 1:
        return Sample(document, 1.0)
    if not measured["divisible"]:
        return _whole(document, job, share)
    source = cloud.store(parse_s3_uri(document["input"]["lines"]).bucket)
    folder = f"{_FOLDER}{uuid.uuid4().hex}/"
    written, size_bytes = [], 0
    for number, (key, size, etag) in enumerate(listed):
        beginning = source.get_range(key, 0, min(size, max(1, round(share * size))), etag=etag)
        lines = beginning[: beginning.rfind(b"\n") + 1]  # whole ones; a sample may well be a little less
        if lines:
            written.append(f"{folder}{number:06d}")
            cloud.data_store.put(written[-1], lines)
            size_bytes += len(lines)
    if not written:
        allowed = "a greater share: this one holds not a single line"
        raise SpecError([Fault("sample", str(share), allowed)])
    given = {**document["input"], "lines": f"s3://{cloud.deployment.data_bucket}/{folder}"}
    return Sample({**document, "input": given}, size_bytes / total, tuple(written))


def _whole(document: Document, job: JobSpec, share: float | None) -> Sample:
    if share is None:
        return Sample(document, 1.0)
    allowed = "1, or nothing: only items in the document and lines that are not compressed can be sampled"
    raise SpecError([Fault("sample", str(share), allowed)])
