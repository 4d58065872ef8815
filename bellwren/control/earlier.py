"""A job whose input is the result of an earlier one: wait for that, then hand its parts on as they lie in storage."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from bellwren import layout
from bellwren.control import status
from bellwren.engine.commit import output_bucket
from bellwren.engine.stage import Stage
from bellwren.errors import Fault, JobFailed, SpecError
from bellwren.spec import JobSpec
from bellwren.store import Store

Document = dict[str, Any]

UNKNOWN_GRACE_S = 30.0
"""A job that was started just before may not have claimed its id yet; after this long there is none."""
_PROMPT_S = 60.0
_LONGEST_CHAIN = 1_000


class InputFailed(JobFailed):
    """The job whose results are the input did not succeed."""


def pause_s(waited_s: float) -> int:
    """Seconds until to look again, for a job that has waited so long.

    An eighth of the time waited, at most a minute, and after some hours half a percent of it: each look is nine events
    in the execution's history, which ends at 25,000, and so even a year of waiting takes fewer than 2,000 looks.
    """
    return math.ceil(max(1.0, min(waited_s / 8, _PROMPT_S), waited_s / 200))


def wait_s(document: JobSpec, job_id: str, jobs: Store) -> int:
    """How long to wait before looking again; 0 where the earlier job has its results, or there is none.

    Raises:
        SpecError: if there is no such job, or it waits for this one.
        InputFailed: if it did not succeed.
    """
    earlier = document.input.job if document.input is not None else None
    if earlier is None:
        return 0
    claim = jobs.get_json(layout.claim(job_id))
    waited_s = (datetime.now(UTC) - datetime.fromisoformat(claim["at"])).total_seconds()
    found = status.read(jobs, earlier)
    _refuse_circle(job_id, earlier, found, jobs)
    if found is None:
        if waited_s > UNKNOWN_GRACE_S and not jobs.head(layout.claim(earlier)):
            raise SpecError([Fault("input.job", earlier, "the id of a job; there is none of this id")])
        return 1
    if found["status"] not in status.FINAL:
        return pause_s(waited_s)
    if found["status"] != "SUCCEEDED":
        error = found.get("error") or {}
        reason = f": {error.get('type')}: {error.get('message')}" if error else ""
        raise InputFailed(f"job {earlier}, whose results are the input of this one, {_ended(found)}{reason}")
    return 0


def measure_results(document: JobSpec, jobs: Store, stores: Callable[[str], Store] = Store) -> Document:
    """The profile of an earlier job's results: which parts there are, how many results and bytes each one holds.

    ``stores`` is how buckets are reached; by default with the credentials of the environment.

    Raises:
        SpecError: if the results are in a form that is not read, or are not there any more.
    """
    assert document.input is not None
    earlier = str(document.input.job)
    plan = jobs.get_json(layout.plan(earlier))
    last = plan["stages"].get(plan["order"][-1])
    if last is None:  # it had no input, and so no stage
        return {"results": {"job_id": earlier}, "parts": [], "items": 0, "bytes": 0, "objects": 0}
    stage = Stage.from_dict(last)
    counts = (jobs.find_json(layout.parts(earlier)) or {}).get("counts")
    assert stage.output is not None
    if stage.output.format not in ("pickle", "jsonl"):
        allowed = (
            f"a job with results of format pickle or jsonl; read these by their own format from {_uri(stage)}"
        )
        raise SpecError([Fault("input.job", f"{earlier}, with results as {stage.output.format}", allowed)])
    suffix = f".{stage.output.format}"
    prefix = stage.output.prefix + layout.PART
    found = stores(output_bucket(stage, jobs.bucket)).list(prefix)
    sizes = {int(one.key[len(prefix) : -len(suffix)]): one.size for one in found if one.key.endswith(suffix)}
    if counts is None or not set(range(len(counts))) <= sizes.keys():
        raise SpecError(
            [Fault("input.job", earlier, f"a job whose results are there; look at {_uri(stage)}")]
        )
    firsts = accumulate(counts, initial=0)
    parts = [
        [part, first, count, sizes[part]]
        for part, (first, count) in enumerate(zip(firsts, counts, strict=False))
        if count
    ]
    return {
        "results": {
            "job_id": earlier,
            "bucket": stage.output.bucket,
            "prefix": stage.output.prefix,
            "format": stage.output.format,
            "pairs": plan["kind"] == "map_reduce",
        },
        "parts": parts,
        "items": sum(counts),
        "bytes": sum(size for *_, size in parts),
        "objects": len(parts),
    }


def _uri(stage: Stage) -> str:
    """Where the parts of the stage are."""
    assert stage.output is not None
    return f"s3://{stage.output.bucket}/{stage.output.prefix}"


def _ended(found: Document) -> str:
    return {"FAILED": "failed", "CANCELLED": "was cancelled", "REJECTED": "was refused"}[found["status"]]


def _refuse_circle(job_id: str, earlier: str, found: Document | None, jobs: Store) -> None:
    """Jobs that wait for each other wait for ever."""
    chain = [job_id, earlier]
    while chain[-1] != job_id:
        waits_for = (found or {}).get("waits_for")
        if waits_for is None or len(chain) > _LONGEST_CHAIN:
            return
        chain.append(waits_for)
        found = status.read(jobs, waits_for)
    raise SpecError(
        [Fault("input.job", earlier, f"a job that does not wait for this one ({' ▸ '.join(chain)})")]
    )
