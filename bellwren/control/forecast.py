"""Forecast: what the job will take at every scale-out, and which one to take. No fault of it ever stops a job."""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.control.sizing import default_choice
from bellwren.deployment import Deployment
from bellwren.store import Store

Document = dict[str, Any]


def forecast(job_id: str, deployment: Deployment) -> Document:
    """Run the Forecast state; writes ``forecast.json`` and returns it.

    Returns:
        ``{"algorithm", "model", "forecasts": [...], "choice": {"workers", "memory_mb", ...}, "reason"}``.
    """
    jobs = Store(deployment.jobs_bucket)
    spec = jobs.get_json(layout.spec(job_id))
    profile = jobs.get_json(layout.profile(job_id))
    answer = _without_model(spec, profile, deployment)
    jobs.put_json(layout.forecast(job_id), answer)
    return answer


def _without_model(spec: Document, profile: Document, deployment: Deployment) -> Document:
    workers, memory_mb = default_choice(
        items=profile["items"], input_bytes=profile["bytes"], memory_sizes_mb=deployment.worker_memory_mb
    )
    return {
        "algorithm": spec["algorithm"],
        "model": None,
        "forecasts": [],
        "choice": {"workers": min(workers, deployment.max_workers), "memory_mb": memory_mb},
        "reason": f"there is no model of {spec['algorithm']!r} yet, so the stated default was taken",
    }
