"""The stages of a parameter server: train on every shard, then gather what the parameters have become."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bellwren import layout
from bellwren.engine.stage import Output, Stage
from bellwren.framing import Index
from bellwren.store import Store

Document = dict[str, Any]


def train_stage(
    job_id: str,
    spec: Document,
    profile: Document,
    shared: Document,
    *,
    workers: int,
    memory_mb: int,
    jobs: Store,
) -> Stage:
    """A task for each shard: of data in S3, for each chunk."""
    if "index" in profile:
        index = Index.from_dict(profile["index"])
        rows = [[a, b - a, *index.span(a, b)] for a, b in pairwise(range(index.count + 1))]
        table: Document = {"items": rows}
        source = profile["source"]
        tasks = index.count
    else:
        from bellwren.control.records import cut_records  # noqa: PLC0415  only data in S3 needs it

        wanted = spec.get("shards") or workers
        source, table, tasks = cut_records(profile, wanted, memory_mb, tasks_per_slot=1)
    jobs.put_json(layout.tasks(job_id, "train"), table)
    return Stage(
        name="train",
        operation="train",
        tasks=tasks,
        input=source,
        # What train functions return is nobody's result; that they have returned is what counts.
        output=Output(jobs.bucket, f"{layout.work(job_id)}train/returned/", "pickle"),
        supersteps={
            "shards": tasks,
            "staleness": spec.get("staleness"),
            "parameters": profile.get("parameters"),
        },
        **shared,
    )


def gather_stage(before: Document, output: Output, shared: Document) -> Stage:
    """One task, whose result is the parameters."""
    return Stage(
        name="gather",
        operation="gather",
        tasks=1,
        input={"kind": "slices"},
        output=output,
        supersteps=before["supersteps"],
        **shared,
    )


def measured(document: Any, job_id: str, jobs: Store) -> Document:
    """Where the parameters lie, and in which form; nothing where there are none, and every push may name new ones."""
    if document.parameters_payload is not None:
        payload = document.parameters_payload
        return {"parameters": {"form": "pickle", "key": payload.key, "sha256": payload.sha256}}
    if document.parameters is None:
        return {"parameters": None}
    import hashlib  # noqa: PLC0415  few jobs need it
    import json  # noqa: PLC0415

    data = json.dumps(document.parameters, allow_nan=False).encode()
    jobs.put(layout.given_parameters(job_id), data)
    sha256 = hashlib.sha256(data).hexdigest()
    return {"parameters": {"form": "json", "key": layout.given_parameters(job_id), "sha256": sha256}}


def told(job_id: str, jobs: Store) -> Document:
    """For the status: how many updates came in, and the last loss that was noted."""
    ending = jobs.find_json(layout.ending(job_id))
    if ending is None:
        return {}
    return {"pushes": ending["pushes"], "loss": ending["losses"][-1][2] if ending["losses"] else None}


def recorded(job_id: str, jobs: Store) -> Document:
    """For the execution record: ``losses``, a list of ``[push of its shard, shard, loss]``."""
    ending = jobs.find_json(layout.ending(job_id))
    return {} if ending is None else {"pushes": ending["pushes"], "losses": ending["losses"]}
