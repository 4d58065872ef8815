"""Finish: decide how a job ended, and write it down: status, failures, execution record.

Called by the state machine at the end of every path, and by an event when an execution ended without getting here
(aborted, timed out). It may run twice: what it writes is created once or the same again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bellwren import layout
from bellwren.control import stages, status, supersteps, training
from bellwren.control.prepare import read_request
from bellwren.control.reports import StageReport, read_stage
from bellwren.control.tolerance import tolerated
from bellwren.deployment import Deployment
from bellwren.engine.stage import Stage
from bellwren.learning.metrics import emitter
from bellwren.records.metrics import job_metrics
from bellwren.records.record import make_record
from bellwren.report.page import page
from bellwren.store import Store, as_json

Document = dict[str, Any]
log = logging.getLogger(__name__)

FAILURES_IN_STATUS = 100
FAILURES_KEPT = 1000
_TRACEBACK_IN_STATUS = 4000

_OF_A_KIND: dict[Any, Any] = {"bsp": supersteps, "parameter_server": training}
"""What knows more of a job of its kind."""
_SPENT = re.compile(r"/(claims|trail)/|/(fatal|cancel)\.json$")


@dataclass
class Ending:
    """Everything that was found of a job at its end."""

    job_id: str
    spec: Document | None
    plan: Document | None
    profile: Document | None
    error: Document | None
    """Why the job can't have a result, if there is such a reason."""
    cancelled: bool
    stages: dict[str, StageReport] = field(default_factory=dict)
    failures: list[Document] = field(default_factory=list)
    failed: int = 0
    total: int = 0

    @property
    def outcome(self) -> str:
        """The final status."""
        if self.cancelled:
            return "CANCELLED"
        return "FAILED" if self.error else "SUCCEEDED"


def finish(state: Document, deployment: Deployment) -> Document:
    """Run the Finish state; returns ``{"status"}``."""
    jobs = Store(deployment.jobs_bucket)
    call = _read_state(state)
    job_id = call.job_id
    found = status.read(jobs, job_id)
    claim = jobs.find_json(layout.claim(job_id))
    if claim is None or (call.execution and claim["execution"] != call.execution) or call.stale(claim):
        # An execution that was aborted before its first state, or from which another one has taken the job over, or
        # news of its end that was under way while it was redriven.
        return {"status": found["status"] if found else "FAILED"}
    if found is not None and found["status"] in status.FINAL:
        _clean(job_id, found["status"], jobs)
        return {"status": found["status"]}
    ending = _look(call, jobs)
    kind = (ending.spec or {}).get("kind")
    if kind == "bsp":
        ending.failures += [{**one, "stage": "supersteps"} for one in supersteps.failures(job_id, jobs)]
        ending.failed += len(ending.failures)
    _judge(ending)
    _write_failures(ending, jobs)
    final = _final_status(ending, found, jobs)
    if of_the_kind := _OF_A_KIND.get(kind):
        final |= of_the_kind.told(job_id, jobs)
    forecast = jobs.find_json(layout.forecast(job_id))
    record = _record(ending, final, forecast, jobs)
    if record is not None:
        final["cost_usd"] = record["cost_usd"]
        jobs.put_json(layout.record(job_id), record)
        if _publish(record, deployment):
            emitter(deployment.stage, job_id=job_id)(job_metrics(record), record["algorithm"])
    _explain(ending, final, record, forecast, jobs)
    if found is None:
        jobs.create(layout.status(job_id), as_json(final))
    else:
        final = status.update(jobs, job_id, final)
    _clean(job_id, final["status"], jobs)
    return {"status": final["status"]}


@dataclass(frozen=True)
class _Call:
    job_id: str
    execution: str
    error: Document | None = None
    """What went wrong on the way here."""
    aborted: bool = False
    redrives: int | None = None
    """How often the execution had been redriven when it ended, if that is known."""

    def stale(self, claim: Document) -> bool:
        """Whether the execution has been redriven since."""
        return self.redrives is not None and self.redrives < claim.get("redrives", 0)


def _read_state(state: Document) -> _Call:
    if state.get("detail-type"):
        detail = state["detail"]
        started = json.loads(detail.get("input") or "{}")
        job_id = read_request(started, detail["name"]).job_id
        error = {
            "type": f"Execution{detail['status'].title().replace('_', '')}",
            "message": detail.get("cause") or "",
        }
        return _Call(
            job_id,
            detail.get("executionArn", ""),
            error,
            aborted=detail["status"] == "ABORTED",
            redrives=detail.get("redriveCount"),
        )
    job_id = state.get("job_id") or read_request(state["input"], state["name"]).job_id
    caught, execution = state.get("error"), state.get("execution", "")
    if not caught:
        return _Call(job_id, execution)
    error = {"type": caught.get("Error", "Error"), "message": _cause(caught.get("Cause", ""))}
    return _Call(job_id, execution, error)


def _cause(cause: str) -> str:
    """A Lambda failure's message, out of the JSON that Step Functions wraps it in."""
    with contextlib.suppress(ValueError, AttributeError):
        return str(json.loads(cause)["errorMessage"]) if cause.startswith("{") else cause
    return cause


def _look(call: _Call, jobs: Store) -> Ending:
    job_id = call.job_id
    plan = jobs.find_json(layout.plan(job_id))
    fatal = jobs.find_json(layout.fatal(job_id))
    ending = Ending(
        job_id=job_id,
        spec=jobs.find_json(layout.spec(job_id)),
        plan=plan,
        profile=jobs.find_json(layout.profile(job_id)),
        error=fatal or call.error or (plan or {}).get("error"),
        cancelled=call.aborted or jobs.head(layout.cancel(job_id)) is not None,
    )
    for name, document in (plan or {}).get("stages", {}).items():
        ending.stages[name] = read_stage(jobs, job_id, Stage.from_dict(document))
    return ending


def _judge(ending: Ending) -> None:
    """Count the failures, and see whether there are more than the job tolerates."""
    tolerate = (ending.spec or {}).get("tolerate", 0.0)
    for name, report in ending.stages.items():
        own = [{**failure, "stage": name} for failure in _numbered(report)]
        ending.failed += report.failed
        ending.total += report.items
        fails_the_job = report.failed > tolerated(report.items, tolerate) and not ending.error
        # The first of all is the one that the job's error is about.
        ending.failures = own + ending.failures if fails_the_job else ending.failures + own
        if fails_the_job:
            first = own[0]
            ending.error = {
                "type": "TaskError",
                "message": (
                    f"{report.failed} of {report.items} item(s) of stage {name!r} failed, and tolerate={tolerate:g}; "
                    f"the first is item {first['index']}: {first['type']}: {first['message']}"
                ),
            }
    if not ending.error and not ending.cancelled:
        ending.error = _missing(ending)


def _missing(ending: Ending) -> Document | None:
    """What a job that seems to have succeeded lacks. Nothing is known that would lead here; better safe than silent."""
    message = ""
    for name in (ending.plan or {}).get("order", ["map"]):
        report = ending.stages.get(name)
        if report is None:
            message = f"stage {name!r} never ran"
        elif len(report.committed) != report.tasks:
            message = f"{report.tasks - len(report.committed)} of {report.tasks} outputs of stage {name!r} are missing"
        if message:
            return {"type": "Incomplete", "message": f"{message}; resume the job"}
    declared = (ending.profile or {}).get("items")
    read = next(iter(ending.stages.values())).items
    if declared is not None and read != declared:
        return {"type": "Incomplete", "message": f"the job has {declared} item(s), but {read} were read"}
    return None


def _numbered(report: StageReport) -> Iterator[Document]:
    """Failures with their index in the whole input: a task over records knows only its own."""
    offset = 0
    for task in sorted(report.committed):
        entry = report.committed[task]
        for failure in entry["failures"]:
            yield {**failure, "index": failure["index"] + (offset if report.counts_within_tasks else 0)}
        offset += entry["items"]


def _write_failures(ending: Ending, jobs: Store) -> None:
    kept = {
        layout.error(ending.job_id, failure["stage"], failure["index"]): failure
        for failure in ending.failures[:FAILURES_KEPT]
    }
    for key, failure in kept.items():
        jobs.put_json(key, failure)
    # Failures of a run before this one, which was resumed.
    jobs.delete([entry.key for entry in jobs.list(layout.errors(ending.job_id)) if entry.key not in kept])


def _final_status(ending: Ending, found: Document | None, jobs: Store) -> Document:
    document = found or status.initial(ending.job_id, kind=None, algorithm=None, name=None)
    last = list(ending.stages.values())[-1:]
    document |= {
        "status": ending.outcome,
        "finished_at": status.now(),
        "failures": [_shown(failure) for failure in ending.failures[:FAILURES_IN_STATUS]],
        "failed": ending.failed,
        "error": ending.error,
    }
    for report in last:
        document["progress"] = {"done": len(report.committed), "total": report.tasks, "stage": report.stage}
    if ending.outcome == "SUCCEEDED" and ending.spec:
        document["results_uri"] = stages.results_uri(ending.job_id, ending.spec, jobs.bucket)
        document["parts"] = last[0].tasks if last else 0
        counts = [entry["count"] for _, entry in sorted(last[0].committed.items())] if last else []
        jobs.put_json(layout.parts(ending.job_id), {"counts": counts})
        document["format"] = ending.spec["output"]["format"]
    return document


def _shown(failure: Document) -> Document:
    """As it stands in the status: the whole of it is in ``errors/``."""
    told = {name: value for name, value in failure.items() if name != "exception"}
    return {**told, "traceback": failure["traceback"][-_TRACEBACK_IN_STATUS:]}


def _record(ending: Ending, final: Document, forecast: Document | None, jobs: Store) -> Document | None:
    """The execution record of a job that came so far as to have a plan."""
    if not (ending.spec and ending.plan and ending.profile):
        return None
    record: Document = dict(
        make_record(
            spec=ending.spec,
            profile=ending.profile,
            plan=ending.plan,
            status=final,
            stages=ending.stages,
            forecast=forecast,
        )
    )
    if of_the_kind := _OF_A_KIND.get(ending.spec["kind"]):
        record |= of_the_kind.recorded(ending.job_id, jobs)
    return record


def _publish(record: Document, deployment: Deployment) -> bool:
    """Into the records bucket, once: the key depends on nothing that a second try would see differently."""
    key = layout.execution_record(record["algorithm"], record["job_id"], record["started_at"])
    return Store(deployment.records_bucket).create(key, as_json(record))


def _explain(
    ending: Ending, final: Document, record: Document | None, forecast: Document | None, jobs: Store
) -> None:
    """Write the report. It is there to be looked at: a job whose page can't be made has ended all the same."""
    workers = {name: report.workers for name, report in ending.stages.items()}
    try:
        made = page(status=final, record=record, forecast=forecast, stages=workers)
    except Exception:
        log.exception("the report of job %s was not written", ending.job_id)
        return
    jobs.put(layout.report(ending.job_id), made, content_type="text/html")


def _clean(job_id: str, outcome: str, jobs: Store) -> None:
    """Delete the working keys that a job needs no more. If that fails, they expire by themselves.

    One that may be resumed keeps what it has done and the reports of it, but starts with a clean slate: no claims, no
    verdict on the whole job, no notes on items, which get new tries.
    """
    try:
        stages_of = (jobs.find_json(layout.plan(job_id)) or {}).get("stages", {})
        tasks = max((stage["tasks"] for stage in stages_of.values()), default=0)
        keys = [entry.key for entry in jobs.list_all(layout.places(job_id, tasks))]
        if outcome != "SUCCEEDED":
            keys = [key for key in keys if _SPENT.search(key)] + supersteps.spent(job_id, jobs)
        jobs.delete(keys)
    except Exception:
        # The job has its final status, and must not be told to have failed because of this.
        log.exception("working keys of job %s were left behind", job_id)
