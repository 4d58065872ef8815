"""The execution record of one job: what it was, how it was run, what it took. The model learns from these.

Written once by Finish. Its fields are in `document`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bellwren import cost
from bellwren.control.reports import StageReport
from bellwren.control.sizing import most_tasks
from bellwren.records.contention import Life, contended, queue_s, reinvocations
from bellwren.records.document import RecordDocument, StageRecord
from bellwren.records.version import SCHEMA

Document = dict[str, Any]


def make_record(
    *,
    spec: Document,
    profile: Document,
    plan: Document,
    status: Document,
    stages: dict[str, StageReport],
    forecast: Document | None,
) -> RecordDocument:
    """Put a record together from the job's documents and its workers' reports."""
    used = usage(plan, stages)
    lines = cost.lines(used)
    measured = [_stage(report) for report in stages.values()]
    return {
        "schema": SCHEMA,
        "job_id": status["job_id"],
        "name": spec["name"],
        "algorithm": spec["algorithm"],
        "kind": spec["kind"],
        "outcome": status["status"],
        "label": status["status"] == "SUCCEEDED" and not status["failed"],
        "contended": any(contended(_lives(report)) for report in stages.values()),
        "started_at": status["started_at"],
        "finished_at": status["finished_at"],
        "runtime_s": _seconds(status["started_at"], status["finished_at"]),
        "compute_s": round(sum(stage["wall_s"] for stage in measured), 6),
        "workers": plan["workers"],
        "memory_mb": plan["memory_mb"],
        "reason": plan["reason"],
        "bytes": profile["bytes"],
        "objects": profile.get("objects"),
        "items": profile.get("items"),
        "most_tasks": most_tasks(profile),
        "data": profile.get("data", {}),
        "tasks": {name: stage["tasks"] for name, stage in plan["stages"].items()},
        "rounds": plan["rounds"],
        "params": profile["params"],
        "context": spec["context"],
        "stages": measured,
        "cold_starts": sum(stage["cold_starts"] for stage in measured),
        "lost_runners": sum(stage["lost_runners"] for stage in measured),
        "failed": status["failed"],
        "billed_gb_s": used.worker_gb_s,
        "cost_usd": sum(lines.values()),
        "cost": lines,
        "forecast": (forecast or {}).get("choice"),
        "model": (forecast or {}).get("model"),
    }


def _lives(report: StageReport) -> list[Life]:
    return [
        Life(one["round"], one["worker"], one["started_at"], one["finished_at"]) for one in report.workers
    ]


def _stage(report: StageReport) -> StageRecord:
    workers, tasks = report.workers, [task for worker in report.workers for task in worker["tasks"]]
    started = min((worker["started_at"] for worker in workers), default=0.0)
    ended = max((worker["finished_at"] for worker in workers), default=0.0)
    return {
        "name": report.stage,
        "tasks": report.tasks,
        "workers": len({worker["worker"] for worker in workers}),
        "invocations": len(workers),
        "reinvocations": reinvocations(_lives(report)),
        "started_at": started,
        "wall_s": round(ended - started, 6),
        "queue_s": round(queue_s(_lives(report)), 6),
        "fetch_s": round(sum(task["fetch_s"] for task in tasks), 6),
        "compute_s": round(sum(task["compute_s"] for task in tasks), 6),
        "commit_s": round(sum(task["commit_s"] for task in tasks), 6),
        "bytes_in": sum(task["bytes_in"] for task in tasks),
        "items": report.items,
        "failed": report.failed,
        "steals": sum(task["how"] == "steal" for task in tasks),
        "backups": sum(task["how"] == "backup" for task in tasks),
        "lost_runners": sum(task["lost_runners"] for task in tasks),
        "cold_starts": sum(worker["cold"] for worker in workers),
        "requests": {
            kind: sum(worker["requests"][kind] for worker in workers) for kind in ("get", "put", "list")
        },
        "peak_mb": max(map(_peak_mb, workers), default=0),
    }


def _peak_mb(worker: Document) -> int:
    """Most memory of a worker with one runner; an upper estimate, since the two share what they were forked from."""
    runners = max((task.get("peak_mb", 0) for task in worker["tasks"]), default=0)
    return int(worker["supervisor_peak_mb"]) + int(runners)


def usage(plan: Document, stages: dict[str, StageReport]) -> cost.Usage:
    """What a job has used so far."""
    workers = [worker for report in stages.values() for worker in report.workers]
    total = cost.around(len(workers), rounds=max(1, plan["rounds"]))
    for worker in workers:
        seconds = worker["finished_at"] - worker["started_at"]
        total += cost.Usage(
            worker_gb_s=cost.billed_gb_s(plan["memory_mb"], seconds),
            s3_puts=worker["requests"]["put"] + worker["requests"]["list"],
            s3_gets=worker["requests"]["get"],
        )
    return total


def _seconds(start: str, end: str) -> float:
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 6)
