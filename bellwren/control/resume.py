"""Resume a job that failed or was cancelled: a new execution takes it over and runs only what is missing.

Outputs, shuffle objects and pieces of tasks stay where they are. Tasks in whose outputs items had failed are done
again: the results of their other items are laid down as pieces, so only the failed items run. The new output replaces
the old one by compare-and-swap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from bellwren import layout
from bellwren.control import status
from bellwren.control.reports import StageReport, read_stage
from bellwren.control.tolerance import tolerated
from bellwren.engine.commit import output_bucket, output_key
from bellwren.engine.progressed import Progressed
from bellwren.engine.stage import Stage
from bellwren.parts import encoded_results
from bellwren.store import Store, as_json

Document = dict[str, Any]


def take_over(jobs: Store, job_id: str, execution: str, redrives: int = 0) -> Document | None:
    """Make ``execution``, in its ``redrives``-th redrive, the job's.

    Returns:
        The job's status before; None if another execution has it, or there is nothing to resume.
    """
    held = jobs.find_with_etag(layout.claim(job_id))
    found = status.read(jobs, job_id)
    if held is None or found is None:
        return None
    claim: Document = json.loads(held[0])
    if claim["execution"] == execution and claim.get("redrives", 0) >= redrives:
        return found if found["status"] not in ("SUCCEEDED", "REJECTED") else None
    if found["status"] not in status.RESUMABLE:
        return None
    again = {
        "execution": execution,
        "at": status.now(),
        "resumed": claim.get("resumed", 0) + 1,
        "redrives": redrives,
    }
    return found if jobs.replace(layout.claim(job_id), as_json(again), held[1]) else None


def resume(jobs: Store, job_id: str, execution: str, redrives: int = 0) -> Document | None:
    """Take the job over and prepare it for ``Plan``; returns its new status, None if there is nothing to resume."""
    if not jobs.head(layout.profile(job_id)):
        return None
    found = take_over(jobs, job_id, execution, redrives)
    if found is None:
        return None
    plan = jobs.find_json(layout.plan(job_id))
    if plan is not None and found["status"] in status.RESUMABLE:
        _rewind(jobs, job_id, plan)
        jobs.put_json(layout.plan(job_id), plan)
    return reopen(jobs, job_id)


def resume_redriven(jobs: Store, job_id: str, execution: str, redrives: int) -> Document | None:
    """As ``resume``, unless the job has been resumed in this redrive, and has failed again."""
    claim = jobs.find_json(layout.claim(job_id)) or {}
    mine = claim.get("execution") == execution and claim.get("redrives", 0) >= redrives
    found = status.read(jobs, job_id)
    if mine and found is not None and found["status"] in status.FINAL:
        return None
    return resume(jobs, job_id, execution, redrives)


def _rewind(jobs: Store, job_id: str, plan: Document) -> None:
    """Set the plan to the first stage that is not whole, in a round of its own."""
    spec = jobs.get_json(layout.spec(job_id))
    plan.update(error=None, after=["resume", plan["rounds"]], answer=None, resumed=True, barren=0, notes="")
    names = list(plan["stages"])
    for place, name in enumerate(names):
        stage = Stage.from_dict(plan["stages"][name])
        report = read_stage(jobs, job_id, stage)
        whole = len(report.committed) == stage.tasks and report.failed <= tolerated(
            report.items, spec["tolerate"]
        )
        if whole and place < len(names) - 1:
            continue
        round_ = 1 + max(plan["round"] if name == plan["last_stage"] else 0, _rounds_of(report))
        plan["stages"][name]["redo"] |= _redo(jobs, job_id, stage, report, round_)
        for later in names[place + 1 :]:
            del plan["stages"][later]
        plan.update(stage=name, round=round_, rounds=plan["rounds"] + 1, done=0)
        return


def _rounds_of(report: StageReport) -> int:
    return max((worker["round"] for worker in report.workers), default=0)


def _redo(
    jobs: Store, job_id: str, stage: Stage, report: StageReport, round_: int
) -> dict[str, tuple[str, int]]:
    """Tasks to do again, with the ETags of their outputs and the round from which on their reports count."""
    outputs = Store(output_bucket(stage, jobs.bucket))
    redo = {}
    for task, entry in report.committed.items():
        if not entry["failed"]:
            continue
        key = output_key(job_id, stage, task)
        found = outputs.head(key)
        assert found is not None
        redo[str(task)] = (found.etag, round_)
        if _one_result_for_each_item(stage):
            _lay_down(jobs, job_id, stage, task, outputs.get(key))
    return redo


def _one_result_for_each_item(stage: Stage) -> bool:
    """Whether results can be told apart by item: a shuffle's can't, and built-in functions may give many."""
    told_apart = stage.output is not None and stage.output.format in ("jsonl", "pickle")
    return told_apart and not any("builtin" in one for one in stage.functions.values())


def _lay_down(jobs: Store, job_id: str, stage: Stage, task: int, data: bytes) -> None:
    """Write the results of the items that had not failed as pieces of the task."""
    assert stage.output is not None
    results = list(encoded_results(stage.output.format, data))
    for start, good in _good_runs(results):
        end = start + len(good)
        piece = Progressed(start, end, [b"".join(good)], len(good), complete=end == len(results))
        jobs.put(layout.partial(job_id, stage.name, task, start), piece.as_bytes())


def _good_runs(results: list[tuple[bytes, bool]]) -> Iterator[tuple[int, list[bytes]]]:
    """Where each run of items that did not fail begins, and its results."""
    position = 0
    for failed, run in groupby(results, key=lambda result: result[1]):
        encoded = [result for result, _ in run]
        if not failed:
            yield position, encoded
        position += len(encoded)


def reopen(jobs: Store, job_id: str) -> Document:
    """Make a final status one of a job in progress again."""
    found = jobs.find_with_etag(layout.status(job_id))
    assert found is not None
    document: Document = json.loads(found[0])
    if document["status"] in status.RESUMABLE:
        document |= {"status": "QUEUED", "finished_at": None, "error": None, "failures": [], "failed": 0}
        jobs.replace(layout.status(job_id), as_json(document), found[1])
    return document
