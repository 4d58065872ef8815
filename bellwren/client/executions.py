"""The executions of jobs: started, found, stopped, taken over."""

from __future__ import annotations

import json
from typing import Any

from bellwren import layout, spec
from bellwren.deployment import Deployment
from bellwren.spec import identity
from bellwren.store import Store

_START_LIMIT_BYTES = 200_000
"""An execution's input may be 262,144 bytes; a larger document goes through storage."""


class Executions:
    """The state machine of a deployment, as the client sees it."""

    def __init__(self, states: Any, deployment: Deployment, jobs: Store) -> None:
        """``states`` is a Step Functions client, ``jobs`` the jobs bucket."""
        self._states = states
        self._deployment = deployment
        self._jobs = jobs

    def start(self, checked: spec.JobSpec) -> str:
        """Start a job; returns its id."""
        job_id = identity.fresh(checked.name)
        text = checked.to_bytes()
        if len(text) > _START_LIMIT_BYTES:
            key = layout.job(job_id) + "submitted.json"
            self._jobs.put(key, text)
            self._start(job_id, {"spec_uri": f"s3://{self._deployment.jobs_bucket}/{key}"})
        else:
            self._start(job_id, {"spec": checked.to_dict()})
        return job_id

    def find(self, job_id: str) -> dict[str, Any] | None:
        """What Step Functions says of the job's execution: ``executionArn``, ``status``, ``error``, ``cause``."""
        try:
            found: dict[str, Any] = self._states.describe_execution(executionArn=self._arn(job_id))
        except self._states.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in ("ExecutionDoesNotExist", "InvalidArn"):
                return None
            raise
        return found

    def stop(self, job_id: str) -> bool:
        """Stop the job's execution; False if it had ended."""
        execution = self.find(job_id)
        if execution is None or execution["status"] != "RUNNING":
            return False
        self._states.stop_execution(
            executionArn=execution["executionArn"], error="Bellwren.Cancelled", cause="cancelled"
        )
        return True

    def resume(self, job_id: str) -> str:
        """Start an execution that takes the job over; returns its ARN. ``Job.resume`` is what users call."""
        return self._start(identity.fresh(job_id), {"resume": job_id})

    def _start(self, name: str, given: dict[str, Any]) -> str:
        started = self._states.start_execution(
            stateMachineArn=self._deployment.state_machine_arn, name=name, input=json.dumps(given)
        )
        return str(started["executionArn"])

    def _arn(self, job_id: str) -> str:
        """ARN of the job's execution: as its claim says, or by the name under which this client starts it."""
        claim = self._jobs.find_json(layout.claim(job_id))
        if claim is not None:
            return str(claim["execution"])
        machine = self._deployment.state_machine_arn
        return f"{machine.replace(':stateMachine:', ':execution:')}:{job_id}"
