"""Plan: look at what lies in storage and say what a job does next.

The one place where a job's course is decided: the first round of the first stage, another round where time ran out, the
next stage, or the end. It holds nothing between calls. A retried Plan finds the answer of its first try in
``plan.json`` and gives it again.
"""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.control import stages
from bellwren.control.sizing import default_choice, nearest_memory
from bellwren.control.status import update
from bellwren.deployment import Deployment
from bellwren.engine.commit import done_tasks, output_bucket
from bellwren.engine.stage import Stage
from bellwren.store import Store

Document = dict[str, Any]


def plan(state: Document, deployment: Deployment) -> Document:
    """Run the Plan state.

    Args:
        state: ``{"job": {"job_id"}, "plan"?: the last answer, "forecast_error"?}``.
        deployment: where everything is.

    Returns:
        ``{"next": "MAP"|"REDUCE"|"FINISH", "stage", "round", "workers": [0, 1, ...], "worker_function"}``.
    """
    job_id = state["job"]["job_id"]
    jobs = Store(deployment.jobs_bucket)
    before = state.get("plan")
    after = [before["stage"], before["round"]] if before else None
    document = jobs.find_json(layout.plan(job_id))
    if document is not None and document["after"] == after:
        answer: Document = document["answer"]
        return answer
    if document is None:
        document = _first(job_id, jobs, deployment)
        update(jobs, job_id, {name: document[name] for name in ("workers", "memory_mb")})
    else:
        _advance(job_id, jobs, document)
    document["after"] = after
    document["answer"] = _answer(document, deployment)
    if document["answer"]["next"] != "FINISH":
        stage = document["stages"][document["stage"]]
        progress = {"done": document["done"], "total": stage["tasks"], "stage": document["stage"]}
        update(jobs, job_id, {"status": "RUNNING", "progress": progress})
    jobs.put_json(layout.plan(job_id), document)
    return document["answer"]  # type: ignore[no-any-return]


def _first(job_id: str, jobs: Store, deployment: Deployment) -> Document:
    spec = jobs.get_json(layout.spec(job_id))
    profile = jobs.get_json(layout.profile(job_id))
    workers, memory_mb, reason = _choose(job_id, spec, profile, jobs, deployment)
    first, *_ = order = stages.order(spec["kind"])
    made = stages.first_stage(job_id, spec, profile, workers=workers, memory_mb=memory_mb, jobs=jobs)
    workers = max(1, min(workers, made.tasks))
    return {
        "job_id": job_id,
        "kind": spec["kind"],
        "algorithm": spec["algorithm"],
        "workers": workers,
        "memory_mb": memory_mb,
        "reason": reason,
        "order": order,
        "stages": {first: made.as_dict()},
        "stage": first if made.tasks else None,
        "round": 0,
        "rounds": 1 if made.tasks else 0,
        "done": 0,
        "kept": 0,
        "error": None,
    }


def _choose(
    job_id: str, spec: Document, profile: Document, jobs: Store, deployment: Deployment
) -> tuple[int, int, str]:
    """Workers, memory in MB, and why: what the document says, else the forecast, else the stated default."""
    sizes = deployment.worker_memory_mb
    forecast = jobs.find_json(layout.forecast(job_id))
    choice = (forecast or {}).get("choice")
    if choice:
        workers, memory_mb = int(choice["workers"]), int(choice["memory_mb"])
        reason = forecast["reason"] if forecast else ""
    else:
        workers, memory_mb = default_choice(
            items=profile.get("items"), input_bytes=profile["bytes"], memory_sizes_mb=sizes
        )
        reason = "there is no forecast, so the stated default was taken"
    if spec["workers"] != "auto":
        workers, reason = spec["workers"], "the document says so"
    if spec["memory_mb"] != "auto":
        memory_mb = spec["memory_mb"]
    return min(workers, deployment.max_workers), nearest_memory(memory_mb, sizes), reason


def _advance(job_id: str, jobs: Store, document: Document) -> None:
    """Move ``document`` on behind the round that has just ended."""
    name = document["stage"]
    stage = Stage.from_dict(document["stages"][name])
    if jobs.head(layout.fatal(job_id)) or jobs.head(layout.cancel(job_id)):
        document["stage"] = None
        return
    outputs = Store(output_bucket(stage, jobs.bucket))
    done = len(done_tasks(outputs, jobs, job_id, stage))
    if done == stage.tasks:
        _next_stage(job_id, jobs, document, name)
        return
    kept = sum(entry.size for entry in jobs.list(layout.partials(job_id, name)))
    if done > document["done"] or kept > document["kept"]:
        document.update(done=done, kept=kept, round=document["round"] + 1, rounds=document["rounds"] + 1)
        return
    document["error"] = {
        "type": "NoProgress",
        "message": (
            f"round {document['round']} of stage {name!r} finished no task: {stage.tasks - done} of {stage.tasks} are "
            "left. Either the workers' function failed each time (see its log), or one item takes longer than a "
            "worker may run: split it, or raise the worker timeout of the deployment"
        ),
    }
    document["stage"] = None


def _next_stage(job_id: str, jobs: Store, document: Document, name: str) -> None:
    order = document["order"]
    following = order[order.index(name) + 1 :]
    if not following:
        document["stage"] = None
        return
    spec = jobs.get_json(layout.spec(job_id))
    profile = jobs.get_json(layout.profile(job_id))
    made = stages.next_stage(job_id, following[0], plan=document, spec=spec, profile=profile, jobs=jobs)
    document["stages"][made.name] = made.as_dict()
    document.update(
        stage=made.name if made.tasks else None, round=0, rounds=document["rounds"] + 1, done=0, kept=0
    )


def _answer(document: Document, deployment: Deployment) -> Document:
    name = document["stage"]
    if name is None:
        return {"next": "FINISH", "stage": "", "round": 0, "workers": [], "worker_function": ""}
    stage = document["stages"][name]
    # In a later round there may be fewer tasks left than workers; home runs are shared out among those that start.
    document["launched"] = min(document["workers"], stage["tasks"] - document["done"])
    return {
        "next": "REDUCE" if stage["operation"] == "reduce" else "MAP",
        "stage": name,
        "round": document["round"],
        "workers": list(range(document["launched"])),
        "worker_function": deployment.worker_functions[document["memory_mb"]],
    }
