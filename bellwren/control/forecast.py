"""Forecast: what the job will take at every scale-out, and which one to take. No fault of it ever stops a job."""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.control.served import ServedModels
from bellwren.control.sizing import default_choice, most_tasks, nearest_memory
from bellwren.control.supersteps import default_workers
from bellwren.deployment import Deployment
from bellwren.forecasting.answer import Question, answer
from bellwren.forecasting.costs import cost_of_many
from bellwren.forecasting.fallback import Sample
from bellwren.records.labels import properties_of
from bellwren.store import Store

Document = dict[str, Any]


def forecast(job_id: str, deployment: Deployment, models: ServedModels) -> Document:
    """Run the Forecast state; writes ``forecast.json`` and returns it.

    Returns:
        See ``bellwren.forecasting.answer.answer``. Where there is no model, and neither deadline nor budget asks for a
        choice, the choice is the stated default of ``control.sizing``.
    """
    jobs = Store(deployment.jobs_bucket)
    spec = jobs.get_json(layout.spec(job_id))
    profile = jobs.get_json(layout.profile(job_id))
    found = make_forecast(spec, profile, deployment, models)
    jobs.put_json(layout.forecast(job_id), found)
    return found


def make_forecast(
    spec: Document, profile: Document, deployment: Deployment, models: ServedModels
) -> Document:
    """The answer for a job of which the document and the profile are known."""
    question = _question(spec, profile, deployment)
    model = models.get(spec["algorithm"])
    found = answer(question, cost_of_many, model)
    if found["model"] is None and question.deadline_s is None and question.budget_usd is None:
        found |= _default(spec, profile, deployment, found)
    return found


def _question(spec: Document, profile: Document, deployment: Deployment) -> Question:
    known = {**profile, "tasks": most_tasks(profile), "context": spec["context"]}
    properties, _ = properties_of(known, spec["name"])
    memory_mb, sizes = spec["memory_mb"], deployment.worker_memory_mb
    return Question(
        algorithm=spec["algorithm"],
        properties=properties,
        max_workers=deployment.max_workers,
        memory_sizes_mb=sizes,
        workers=None if spec["workers"] == "auto" else spec["workers"],
        # What the plan will take for a size that no worker function has.
        memory_mb=None if memory_mb == "auto" else nearest_memory(memory_mb, sizes),
        deadline_s=spec.get("deadline_s"),
        budget_usd=spec.get("budget_usd"),
        objective=spec["objective"],
        sample=_sample(profile),
    )


def _sample(profile: Document) -> Sample | None:
    """What Prepare's trial of the algorithm on a sample comes to for the whole input."""
    each_s = profile.get("seconds_per_byte")
    if not each_s or not profile["bytes"]:
        return None
    return Sample(seconds=each_s * profile["bytes"], share=1.0)


def _default(spec: Document, profile: Document, deployment: Deployment, found: Document) -> Document:
    """The stated default, with the nearest candidate's figures beside it.

    Without a deadline or a budget the cheapest would be one worker, for hours, on no more than a guess.
    """
    forecasts = found["forecasts"]
    workers, memory_mb = default_choice(
        items=profile.get("items"), input_bytes=profile["bytes"], memory_sizes_mb=deployment.worker_memory_mb
    )
    if spec["kind"] in ("bsp", "parameter_server"):
        workers = default_workers(profile)
    # Of what the document fixes there is no other candidate.
    counts, sizes = ({row[name] for row in forecasts} for name in ("workers", "memory_mb"))
    workers = next(iter(counts)) if len(counts) == 1 else min(workers, max(counts))
    memory_mb = memory_mb if memory_mb in sizes else min(sizes)

    def distance(row: Document) -> tuple[int, int]:
        return abs(row["memory_mb"] - memory_mb), abs(row["workers"] - workers)

    nearest: Document = min(forecasts, key=distance)
    return {
        "choice": {**nearest, "workers": workers, "memory_mb": memory_mb, "meets_budget": True},
        "reason": (
            f"there is no model of {spec['algorithm']!r} yet, so the stated default was taken"
            + (", with figures by a measured sample" if found["source"] == "analytic prior" else "")
        ),
    }
