"""What the workers of a stage did, put together from their reports and from the outputs themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bellwren import layout
from bellwren.engine.commit import COUNT, FAILED, ITEMS, done_tasks, output_bucket, output_key
from bellwren.engine.progressed import MAX_REPORTED_FAILURES
from bellwren.engine.shuffle import note
from bellwren.engine.sorting import runs
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.parts import read_part
from bellwren.store import Store

_PARALLEL = 32


@dataclass
class StageReport:
    """One stage, over all rounds and workers."""

    stage: str
    tasks: int
    counts_within_tasks: bool
    """Whether a failure's index counts from the start of its task: so it is for records, not for items."""
    workers: list[dict[str, Any]] = field(default_factory=list)
    """The reports as written, in order of start."""
    committed: dict[int, dict[str, Any]] = field(default_factory=dict)
    """For each task whose output is there: ``items``, ``failed``, ``failures``, and times if known."""

    @property
    def failed(self) -> int:
        """Items of the stage that failed."""
        return sum(entry["failed"] for entry in self.committed.values())

    @property
    def items(self) -> int:
        """Items of the stage, failures included."""
        return sum(entry["items"] for entry in self.committed.values())


def read_stage(jobs: Store, job_id: str, stage: Stage) -> StageReport:
    """Read every worker's report of a stage, and look into the outputs that no report speaks of.

    A worker that died after it had committed left an output and no report; what it did is then read from the output.
    """
    report = StageReport(
        stage.name,
        stage.tasks,
        counts_within_tasks=stage.input["kind"] not in ("items", "results")
        and stage.operation != "supersteps",
    )
    keys = [entry.key for entry in jobs.list(layout.worker_reports(job_id, stage.name))]
    report.workers = sorted(_read_all(jobs, keys), key=lambda one: float(one["started_at"]))
    for worker in report.workers:
        for task in worker["tasks"]:
            _, since = stage.redo.get(str(task["task"]), ("", 0))
            if task["outcome"] == "committed" and worker["round"] >= since:
                report.committed[task["task"]] = task
    outputs = Store(output_bucket(stage, jobs.bucket))
    for task in done_tasks(outputs, jobs, job_id, stage) - report.committed.keys():
        report.committed[task] = _from_output(outputs, job_id, stage, task)
    return report


def _from_output(outputs: Store, job_id: str, stage: Stage, task: int) -> dict[str, Any]:
    data, metadata = outputs.get_with_metadata(output_key(job_id, stage, task))
    if stage.operation == "sort":
        found = runs.note(data)
        items, failures = found["items"], found["failures"]
    elif stage.output is None:
        found = note(data, stage.partitions)
        items, failures = found["items"], found["failures"]
    elif stage.output.format in ("raw", "parquet"):
        # Not looked into: what reads Parquet is no part of the control functions.
        items, failures = int(metadata[ITEMS]), [_untold(task)] * int(metadata[FAILED])
    else:
        results = list(read_part(stage.output.format, data))
        items = int(metadata.get(ITEMS, len(results)))
        failures = [failure.as_dict() for failure in results if isinstance(failure, TaskFailure)]
    return {
        "task": task,
        "items": items,
        "count": int(metadata.get(COUNT, items)),
        "failed": len(failures),
        "failures": failures[:MAX_REPORTED_FAILURES],
    }


def _untold(task: int) -> dict[str, Any]:
    message = (
        f"it failed in task {task}, whose worker ended before it could say how; the part holds the failure"
    )
    return TaskFailure(0, "Unknown", message).as_dict()


def _read_all(store: Store, keys: Iterable[str]) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(_PARALLEL) as threads:
        return [json.loads(data) for data in threads.map(store.get, keys)]
