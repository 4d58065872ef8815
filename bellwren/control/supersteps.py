"""What the planner and Finish do for jobs of supersteps: cut them into groups, relaunch them, tell how they went."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

from bellwren import layout
from bellwren.engine.capacity import vcpus
from bellwren.engine.supersteps.rules import outline
from bellwren.framing import Index
from bellwren.spec.settle import DEFAULT_SUPERSTEPS
from bellwren.store import Store

Document = dict[str, Any]

GATHER_S = 60.0
"""How long workers of a round wait for one that has not come, or is silent, before they go on with fewer.
``BELLWREN_GATHER_S`` of the plan function says otherwise."""
MOST_RELAUNCHES = 1000
"""Rounds after which a job that relaunches each superstep stays resident: an execution's history has 25,000 events."""
_DEFAULT_WORKERS = 16
_PARTITION_BYTES = 1 << 20
MAX_SUPERSTEPS = 1_000_000


def default_workers(profile: Document) -> int:
    """Workers where nothing else says how many: one for each partition, or each MiB of input, up to 16."""
    wanted: int = (
        profile["items"] if profile.get("items") is not None else -(-profile["bytes"] // _PARTITION_BYTES)
    )
    return max(1, min(_DEFAULT_WORKERS, wanted))


def cut(
    profile: Document, spec: Document, workers: int, memory_mb: int
) -> tuple[Document, Document, int, Document]:
    """Description of the input, table of groups, their number, and the options of the stage.

    States given one by one are cut into as many groups as there are runners. Of data in S3 each chunk is a partition.
    """
    slots = workers * vcpus(memory_mb)
    if "index" in profile:
        index = Index.from_dict(profile["index"])
        partitions = index.count
        groups = min(partitions, slots)
        edges = [group * partitions // groups for group in range(groups + 1)] if groups else []
        rows = [[a, b - a, *index.span(a, b)] for a, b in pairwise(edges)]
        source = profile["source"]
        table: Document = {"items": rows}
    else:
        from bellwren.control.records import cut_records  # noqa: PLC0415  only data in S3 needs it

        wanted = -(-spec["partitions"] // vcpus(memory_mb)) if spec.get("partitions") else workers
        source, table, groups = cut_records(profile, wanted, memory_mb, tasks_per_slot=1)
        partitions = groups
    options = {
        "partitions": partitions,
        "max_supersteps": _limit(profile, spec),
        "resident": spec["resident"],
        "gather_s": float(os.environ.get("BELLWREN_GATHER_S", GATHER_S)),
    }
    return source, table, groups, options


def _limit(profile: Document, spec: Document) -> int:
    """The most supersteps. A built-in algorithm counts its own iterations, so the default is none of its concern."""
    limit: int = spec["max_supersteps"]
    builtin = "builtin" in profile["functions"].get("step", {})
    return MAX_SUPERSTEPS if builtin and limit == DEFAULT_SUPERSTEPS else limit


def settle(job_id: str, jobs: Store, document: Document) -> bool:
    """Take in what the round that has ended left behind; True if the job has failed in a superstep."""
    ending = jobs.find_json(layout.ending(job_id))
    if ending is not None and ending["ended"] == "failed":
        document.update(stage=None, error=_error(ending))
        return True
    parting = jobs.find_json(layout.parting(job_id, document["round"]))
    if parting is not None:
        document["together"] = max(1, parting["together"])
    if document["round"] + 1 >= MOST_RELAUNCHES:
        document["stages"][document["stage"]]["supersteps"]["resident"] = True
    return False


def marks(job_id: str, jobs: Store) -> list[str]:
    """What changes whenever a job of supersteps comes further: its checkpoints, and its last superstep."""
    folders = sorted(jobs.folders(layout.supersteps(job_id)))
    last = [entry.key for entry in jobs.list(folders[-1])] if folders else []
    return [entry.key for entry in jobs.list(layout.checkpoints(job_id))] + last


def failures(job_id: str, jobs: Store) -> list[Document]:
    """The partitions that failed in the last superstep, each with its number as ``index``."""
    ending = jobs.find_json(layout.ending(job_id))
    return [] if ending is None else list(ending["failures"])


def spent(job_id: str, jobs: Store) -> list[str]:
    """What must go before a failed job can be resumed: that it has ended, and what the failed groups put up last."""
    ending = jobs.find_json(layout.ending(job_id))
    if ending is None or ending["ended"] != "failed":
        return []
    last = ending["supersteps"] - 1
    failed = [layout.sent(job_id, last, group) for group in ending["failed"]]
    return [layout.ending(job_id), layout.complete(job_id, last), *failed]


def told(job_id: str, jobs: Store) -> Document:
    """For the status: why and when it ended, the last aggregates, and those of some supersteps on the way.

    Nothing if it has not come so far.
    """
    ending = jobs.find_json(layout.ending(job_id))
    if ending is None:
        return {}
    told = {name: ending[name] for name in ("ended", "supersteps", "aggregates")}
    return {**told, "history": outline(ending["history"])}


def recorded(job_id: str, jobs: Store) -> Document:
    """For the execution record: the whole course, superstep by superstep (every second, fourth, ... of a long one)."""
    ending = jobs.find_json(layout.ending(job_id))
    return (
        {} if ending is None else {name: ending[name] for name in ("ended", "supersteps", "every", "history")}
    )


def _error(ending: Document) -> Document:
    first = ending["failures"][0]
    message = (
        f"partition {first['index']} failed in superstep {ending['supersteps'] - 1}: "
        f"{first['type']}: {first['message']}"
    )
    return {"type": "TaskError", "message": message, "traceback": first.get("traceback", "")}
