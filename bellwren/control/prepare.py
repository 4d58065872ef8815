"""Prepare: claim the job, check its document, measure its input.

Whoever starts the state machine, and however often the same start is delivered, one execution claims the job by a
conditional create; any other ends as a duplicate and touches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bellwren import layout, spec
from bellwren.control import earlier, measure, resume, status
from bellwren.deployment import Deployment
from bellwren.errors import Fault, InputError, SpecError
from bellwren.spec import identity
from bellwren.store import Store, as_json, parse_uri


@dataclass(frozen=True)
class Request:
    """What an execution was started with."""

    job_id: str
    document: dict[str, Any] | None = None
    """The job document itself, if it came with the start."""
    bucket: str = ""
    key: str = ""
    """Where the document lies otherwise."""
    fault: Fault | None = None
    """What is wrong with the start, if it names no document at all."""
    resumes: bool = False
    """Whether it is a job that there is already, to go on with."""


def read_request(event: Any, name: str) -> Request:
    """Understand what an execution of this name was started with: an S3 event, ``spec`` or ``spec_uri``."""
    if not isinstance(event, dict):
        return _no_request(identity.from_execution(name), repr(event)[:80])
    detail = event.get("detail")
    if isinstance(detail, dict) and "object" in detail:
        bucket, found = detail["bucket"]["name"], detail["object"]
        # EventBridge carries keys as they are; only S3's own notifications URL-encode them.
        mark = found.get("sequencer") or found.get("etag", "")
        return Request(identity.from_event(bucket, found["key"], mark), bucket=bucket, key=found["key"])
    if isinstance(event.get("resume"), str):
        return Request(event["resume"], resumes=True)
    job_id = identity.from_execution(name)
    if isinstance(event.get("spec"), dict):
        return Request(job_id, document=event["spec"])
    uri = event.get("spec_uri")
    if isinstance(uri, str):
        return _by_uri(job_id, uri)
    return _no_request(job_id, ", ".join(sorted(map(str, event)))[:80] or "nothing")


def _by_uri(job_id: str, uri: str) -> Request:
    try:
        bucket, key = parse_uri(uri)
    except InputError as error:
        return Request(job_id, fault=Fault("spec_uri", repr(uri)[:80], str(error)))
    return Request(job_id, bucket=bucket, key=key)


def _no_request(job_id: str, found: str) -> Request:
    return Request(
        job_id, fault=Fault("", found, 'an input {"spec": {...}} or {"spec_uri": "s3://bucket/key"}')
    )


def prepare(
    event: Any, execution: str, name: str, deployment: Deployment, *, redrives: int = 0
) -> dict[str, Any]:
    """Run the Prepare state of an execution, redriven so many times.

    Returns:
        ``{"job_id", "action", "kind", "algorithm"}``.
    """
    request = read_request(event, name)
    jobs = Store(deployment.jobs_bucket)
    if request.resumes:
        found = resume.resume(jobs, request.job_id, execution, redrives)
        action = "RUN" if found else "DUPLICATE"
        told = {name: (found or {}).get(name) for name in ("kind", "algorithm")}
        return {"job_id": request.job_id, "action": action, **told}
    answer = {"job_id": request.job_id, "kind": None, "algorithm": None}
    if not _claim(jobs, request.job_id, execution, redrives):
        return {**answer, "action": "DUPLICATE"}
    _point_to(jobs, request, deployment)
    try:
        document = _document(request, deployment)
        _check_code(document, deployment)
        if pause_s := earlier.wait_s(document, request.job_id, jobs):
            _begin(request.job_id, document, jobs, waits_for=document.input.job if document.input else None)
            return {**answer, "action": "WAIT", "wait_s": pause_s}
        profile = measure.measure(document, request.job_id, jobs, deployment)
    except SpecError as error:
        _reject(jobs, request, error)
        return {**answer, "action": "REJECTED"}
    except earlier.InputFailed as error:
        _begin(request.job_id, document, jobs)
        jobs.put_json(layout.fatal(request.job_id), {"type": type(error).__name__, "message": str(error)})
        return {**answer, "action": "FAIL"}
    jobs.put_json(layout.profile(request.job_id), profile)
    _begin(request.job_id, document, jobs)
    return {**answer, "action": "RUN", "kind": document.kind, "algorithm": document.algorithm}


def _begin(job_id: str, document: spec.JobSpec, jobs: Store, *, waits_for: str | None = None) -> None:
    """Write the job's document and its first status; ``waits_for`` is the job whose results it needs."""
    jobs.put(layout.spec(job_id), as_json(document.to_dict()))
    first = status.initial(job_id, kind=document.kind, algorithm=document.algorithm, name=document.name)
    if waits_for is not None:
        first["waits_for"] = waits_for
    # Created, not put: a retry of this state must not set a running job back.
    if not jobs.create(layout.status(job_id), as_json(first)) and waits_for is None:
        found = status.read(jobs, job_id)
        if found is not None and found.get("waits_for"):
            # The time of waiting is not the job's own.
            status.update(jobs, job_id, {"waits_for": None, "started_at": first["started_at"]})


def _claim(jobs: Store, job_id: str, execution: str, redrives: int) -> bool:
    mine = {"execution": execution, "at": status.now(), "redrives": redrives}
    if jobs.create(layout.claim(job_id), as_json(mine)):
        return True
    held = jobs.find_json(layout.claim(job_id))
    if held is None or held["execution"] != execution:
        return False
    # Our own claim: either this state is retried, or a job of this name has long ended.
    found = status.read(jobs, job_id)
    if found is None or found["status"] not in status.FINAL:
        return True
    if redrives <= held.get("redrives", 0) or not resume.take_over(jobs, job_id, execution, redrives):
        return False
    # The execution was stopped in this state, or while it waited for its input, and is redriven.
    resume.reopen(jobs, job_id)
    return True


def _check_code(document: spec.JobSpec, deployment: Deployment) -> None:
    """See that the job's code lies where this deployment takes it from. All other code of a job lies there anyway."""
    place = f"s3://{deployment.jobs_bucket}/{layout.CODE}"
    if deployment.stored_code_only and document.code and not document.code.uri.startswith(place):
        allowed = f"a zip below {place}, since this deployment has stored_code_only"
        raise SpecError([Fault("code.uri", document.code.uri, allowed)])


def _document(request: Request, deployment: Deployment) -> spec.JobSpec:
    if request.fault:
        raise SpecError([request.fault])
    if request.document is not None:
        return spec.from_dict(request.document)
    if request.bucket not in deployment.readable_buckets:
        allowed = f"a bucket that this deployment reads: {', '.join(deployment.readable_buckets)}"
        raise SpecError([Fault("spec_uri", request.bucket, allowed)])
    store = Store(request.bucket)
    entry = store.head(request.key)
    if entry is None:
        uri = f"s3://{request.bucket}/{request.key}"
        raise SpecError([Fault("spec_uri", uri, "an object that exists; it is not there (any more)")])
    # One byte more than is allowed is enough for the parser to refuse the rest unread.
    return spec.parse(store.get_range(request.key, 0, spec.MAX_DOCUMENT_BYTES + 1) if entry.size else b"")


def _point_to(jobs: Store, request: Request, deployment: Deployment) -> None:
    """Tell whoever dropped a document into ``specs/`` which job it became."""
    if request.bucket == deployment.jobs_bucket and request.key.startswith(layout.SPECS):
        where = {
            "job_id": request.job_id,
            "status_uri": f"s3://{jobs.bucket}/{layout.status(request.job_id)}",
            "results_uri": f"s3://{jobs.bucket}/{layout.results(request.job_id)}",
        }
        jobs.put_json(layout.submitted(request.key), where)


def _reject(jobs: Store, request: Request, error: SpecError) -> None:
    faults = [fault.as_dict() for fault in error.faults]
    document = {
        **status.initial(request.job_id, kind=None, algorithm=None, name=None),
        "status": "REJECTED",
        "finished_at": status.now(),
        "failures": faults,
        "error": {"type": "SpecError", "message": str(error)[:4000], "faults": faults},
    }
    jobs.put_json(layout.status(request.job_id), document)
