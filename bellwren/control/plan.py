"""Plan: look at what lies in storage and say what a job does next.

The one place where a job's course is decided: the first round of the first stage, another round where time ran out, the
next stage, or the end. It holds nothing between calls. A retried Plan finds the answer of its first try in
``plan.json`` and gives it again.
"""

from __future__ import annotations

import json
from typing import Any

from bellwren import cost, layout
from bellwren.control import leftovers, stages, supersteps
from bellwren.control.reports import read_stage
from bellwren.control.sizing import default_choice, nearest_memory
from bellwren.control.status import FINAL, read, update
from bellwren.control.tolerance import tolerated
from bellwren.deployment import Deployment
from bellwren.engine.stage import Stage
from bellwren.records.record import usage
from bellwren.store import Store, as_json

Document = dict[str, Any]

BARREN_ROUNDS = 2
"""Rounds without any progress after which a job is given up: one may be bad luck."""
_NEXT = {
    "map": "MAP",
    "shuffle": "MAP",
    "reduce": "REDUCE",
    "sort": "MAP",
    "merge": "REDUCE",
    "train": "MAP",
    "gather": "MAP",
    "supersteps": "BSP",
}
"""The state of the state machine that runs an operation."""
_FINISH = {"next": "FINISH", "stage": "", "round": 0, "workers": [], "worker_function": ""}
LEAST_S = 0.5
"""A round that has less than this to spend is not worth its start."""


def plan(state: Document, deployment: Deployment) -> Document:
    """Run the Plan state.

    Args:
        state: ``{"job": {"job_id"}, "plan"?: the last answer, "forecast_error"?}``.
        deployment: where everything is.

    Returns:
        ``{"next": "MAP"|"REDUCE"|"BSP"|"FINISH", "stage", "round", "workers": [0, 1, ...], "worker_function"}``.
    """
    job_id = state["job"]["job_id"]
    jobs = Store(deployment.jobs_bucket)
    before = state.get("plan")
    after = [before["stage"], before["round"]] if before else None
    if (read(jobs, job_id) or {}).get("status") in FINAL:
        # The execution was stopped, which ended the job, and is redriven: it has to come to its end first.
        return _FINISH
    found = jobs.find_with_etag(layout.plan(job_id))
    document: Document | None = json.loads(found[0]) if found else None
    if document is not None and document["after"] == after:
        answer: Document = document["answer"]
        return answer
    if document is None:
        document = _first(job_id, jobs, deployment)
        told = {name: document[name] for name in ("workers", "memory_mb", "reason")}
        update(jobs, job_id, {**told, "forecast": document.pop("forecast")})
    elif document.pop("resumed", False):
        _hand_on(job_id, jobs, document)
    else:
        _advance(job_id, jobs, document)
    _keep_budget(job_id, jobs, document)
    document["after"] = after
    document["answer"] = _answer(document, deployment)
    if document["answer"]["next"] != "FINISH":
        stage = document["stages"][document["stage"]]
        progress = {"done": document["done"], "total": stage["tasks"], "stage": document["stage"]}
        update(jobs, job_id, {"status": "RUNNING", "progress": progress})
    data = as_json(document)
    written = (
        jobs.replace(layout.plan(job_id), data, found[1]) if found else jobs.create(layout.plan(job_id), data)
    )
    if not written:
        return _answer_of_another(job_id, jobs, after)
    return document["answer"]  # type: ignore[no-any-return]


def _answer_of_another(job_id: str, jobs: Store, after: list[Any] | None) -> Document:
    """A second call at the same time, or our own whose answer was lost, wrote the plan: there is one answer."""
    document = jobs.get_json(layout.plan(job_id))
    if document["after"] != after:
        raise RuntimeError(
            f"the plan of job {job_id} is behind {document['after']}, this call is behind {after}"
        )
    return document["answer"]  # type: ignore[no-any-return]


def _first(job_id: str, jobs: Store, deployment: Deployment) -> Document:
    spec = jobs.get_json(layout.spec(job_id))
    profile = jobs.get_json(layout.profile(job_id))
    forecast = jobs.find_json(layout.forecast(job_id)) or {}
    workers, memory_mb, reason = _choose(forecast, spec, profile, deployment)
    first, *_ = order = stages.order(spec["kind"])
    made = stages.first_stage(job_id, spec, profile, workers=workers, memory_mb=memory_mb, jobs=jobs)
    workers = max(1, min(workers, made.tasks))
    document = {
        "job_id": job_id,
        "kind": spec["kind"],
        "algorithm": spec["algorithm"],
        "workers": workers,
        "memory_mb": memory_mb,
        "reason": reason,
        # What the status says was expected of the choice.
        "forecast": forecast.get("choice"),
        # With nothing to do the first stage is the last one too.
        "order": order if made.tasks else [first],
        "stages": {first: made.as_dict()},
        "stage": first if made.tasks else None,
        "round": 0,
        "rounds": 1 if made.tasks else 0,
        "last_stage": first,
        "done": 0,
        "notes": "",
        "barren": 0,
        "error": None,
    }
    if first == "train" and not made.tasks:
        # Parameters to which nothing is added are a result too.
        document.update(order=order, stage=first)
        _next_stage(job_id, jobs, document, first)
    return document


def _choose(
    forecast: Document, spec: Document, profile: Document, deployment: Deployment
) -> tuple[int, int, str]:
    """Workers, memory in MB, and why: what the document says, else the forecast, else the stated default."""
    sizes = deployment.worker_memory_mb
    if choice := forecast.get("choice"):
        workers, memory_mb, reason = int(choice["workers"]), int(choice["memory_mb"]), forecast["reason"]
    else:
        workers, memory_mb = default_choice(
            items=profile.get("items"), input_bytes=profile["bytes"], memory_sizes_mb=sizes
        )
        if spec["kind"] in ("bsp", "parameter_server"):
            workers = supersteps.default_workers(profile)
        reason = "there is no forecast, so the stated default was taken"
    if spec["workers"] != "auto":
        workers, reason = spec["workers"], "the document says so"
    if spec["memory_mb"] != "auto":
        memory_mb = spec["memory_mb"]
    deployed_mb = nearest_memory(memory_mb, sizes)
    if deployed_mb != memory_mb:
        reason += f"; workers of {memory_mb} MB are not deployed, the nearest have {deployed_mb} MB"
    return min(workers, deployment.max_workers), deployed_mb, reason


def _advance(job_id: str, jobs: Store, document: Document) -> None:
    """Move ``document`` on behind the round that has just ended."""
    name = document["stage"]
    stage = Stage.from_dict(document["stages"][name])
    if jobs.head(layout.fatal(job_id)) or jobs.head(layout.cancel(job_id)):
        document["stage"] = None
        return
    if stage.operation == "supersteps" and supersteps.settle(job_id, jobs, document):
        return
    left = leftovers.look(job_id, stage, jobs)
    done = len(left.done)
    if done == stage.tasks:
        _next_stage(job_id, jobs, document, name)
        return
    notes = left.mark
    if stage.operation == "supersteps":
        notes = leftovers.digest(supersteps.marks(job_id, jobs))
    progressed = done > document["done"] or notes != document["notes"]
    document["barren"] = 0 if progressed else document["barren"] + 1
    if document["barren"] < BARREN_ROUNDS:
        document.update(done=done, notes=notes, round=document["round"] + 1, rounds=document["rounds"] + 1)
        leftovers.hand_on(job_id, stage, document["round"], left, jobs)
        return
    met = [
        one["stopped"]
        for one in read_stage(jobs, job_id, stage).workers
        if one["stopped"].startswith("failed: ")
    ]
    why = (
        f"The workers {met[-1]}"
        if met
        else "Either the workers' function failed each time (see its log), or one item takes longer than a worker may "
        "run: split it, or raise the worker timeout of the deployment"
    )
    document["error"] = {
        "type": "NoProgress",
        "message": (
            f"{BARREN_ROUNDS} rounds of stage {name!r} came no further: {stage.tasks - done} of {stage.tasks} tasks "
            f"are left. {why}"
        ),
    }
    document["stage"] = None


def _hand_on(job_id: str, jobs: Store, document: Document) -> None:
    """Tell the workers of a resumed job's first round what is left."""
    stage = Stage.from_dict(document["stages"][document["stage"]])
    leftovers.hand_on(job_id, stage, document["round"], leftovers.look(job_id, stage, jobs), jobs)


def _next_stage(job_id: str, jobs: Store, document: Document, name: str) -> None:
    order = document["order"]
    following = order[order.index(name) + 1 :]
    if not following:
        document["stage"] = None
        return
    spec = jobs.get_json(layout.spec(job_id))
    report = read_stage(jobs, job_id, Stage.from_dict(document["stages"][name]))
    if report.failed > tolerated(report.items, spec["tolerate"]):
        # The job has failed already; what follows would be work for nothing.
        document["stage"] = None
        return
    profile = jobs.get_json(layout.profile(job_id))
    made = stages.next_stage(job_id, following[0], plan=document, spec=spec, profile=profile, jobs=jobs)
    document["stages"][made.name] = made.as_dict()
    document.update(
        stage=made.name if made.tasks else None,
        last_stage=made.name,
        round=0,
        rounds=document["rounds"] + (1 if made.tasks else 0),
        done=0,
        notes="",
        barren=0,
    )


def _keep_budget(job_id: str, jobs: Store, document: Document) -> None:
    """Stop a job that has spent its budget; tell the workers of a round how long they may work within the rest."""
    document["limit_s"] = None
    budget_usd = jobs.get_json(layout.spec(job_id)).get("budget_usd")
    if budget_usd is None or document["stage"] is None:
        return
    reports = {
        name: read_stage(jobs, job_id, Stage.from_dict(one)) for name, one in document["stages"].items()
    }
    spent_usd = _price(usage(document, reports))
    launched = _launched(document)
    spent_usd += _price(cost.around(launched)) - _price(cost.around(0))
    second_usd = _price(cost.Usage(worker_gb_s=launched * cost.billed_gb_s(document["memory_mb"], 1.0)))
    limit_s = (budget_usd - spent_usd) / second_usd
    document["limit_s"] = limit_s
    if limit_s < LEAST_S:
        document["stage"] = None
        # The round that was to come has been counted, and priced, already.
        document["rounds"] -= 1
        document["error"] = {
            "type": "BudgetExceeded",
            "message": (
                f"the job has cost {spent_usd:.6f} USD of budget_usd={budget_usd:g}, and another round would "
                "exceed it; the results so far are kept. Raise budget_usd in a new job"
            ),
        }


def _price(used: cost.Usage) -> float:
    return sum(cost.lines(used).values())


def _launched(document: Document) -> int:
    """Workers of the next round. In a later one there may be fewer tasks left than workers."""
    stage = document["stages"][document["stage"]]
    workers = min(document["workers"], document.get("together", document["workers"]))
    return int(min(workers, stage["tasks"] - document["done"]))


def _answer(document: Document, deployment: Deployment) -> Document:
    name = document["stage"]
    if name is None:
        return _FINISH
    stage = document["stages"][name]
    # Home runs are shared out among those that start.
    document["launched"] = _launched(document)
    return {
        "next": _NEXT[stage["operation"]],
        "stage": name,
        "round": document["round"],
        "workers": list(range(document["launched"])),
        "worker_function": deployment.worker_functions[document["memory_mb"]],
    }
