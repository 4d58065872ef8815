"""Conclude: the last state of a job that did not succeed. It fails, and so does the execution; a redrive begins here.

Step Functions redrives an execution from the state that failed, and a Fail state would only fail again. So an
unsuccessful job ends in a task. At first it fails; when the execution is redriven it runs again, knows that by the
count of redrives, and takes the job up as ``bellwren resume`` does, in the same execution.
"""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.control import resume, status
from bellwren.deployment import Deployment
from bellwren.store import Store


class Unsuccessful(Exception):
    """The error with which the execution ends."""


Unsuccessful.__name__ = "Bellwren.JobFailed"  # by which Step Functions and its users know it


def conclude(job_id: str, execution: str, redrives: int, deployment: Deployment) -> dict[str, Any]:
    """Run the Conclude state in the ``redrives``-th redrive of an execution (0: in its first run).

    Returns:
        What Prepare answers: ``RUN`` where the job goes on, ``DUPLICATE`` where another execution brought it to a good
        end meanwhile.

    Raises:
        Unsuccessful: if there is nothing to go on with.
    """
    jobs = Store(deployment.jobs_bucket)
    if redrives and (found := resume.resume_redriven(jobs, job_id, execution, redrives)):
        return {"job_id": job_id, "action": "RUN", "kind": found["kind"], "algorithm": found["algorithm"]}
    ended = status.read(jobs, job_id)
    if redrives and ended is not None and ended["status"] == "SUCCEEDED":
        return {
            "job_id": job_id,
            "action": "DUPLICATE",
            "kind": ended["kind"],
            "algorithm": ended["algorithm"],
        }
    raise Unsuccessful(f"Job {job_id} did not succeed; the reason is in {layout.status(job_id)}")
