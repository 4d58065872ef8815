"""Every name of a deployed resource, made here and nowhere else.

Names are computed, not exported: a stack refers to another's bucket or function by its name, so no stack
holds a cross-stack reference, and each can be changed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk


@dataclass(frozen=True)
class Names:
    """The names of one stage, in the account and region that the template is deployed to."""

    stage: str

    def of(self, what: str) -> str:
        """A name that is unique within the account and region: a function, a queue, a rule, a state machine."""
        return f"bellwren-{self.stage}-{what}"

    def bucket(self, what: str) -> str:
        """A bucket's name, which is unique in the world."""
        return f"{self.of(what)}-{cdk.Aws.ACCOUNT_ID}-{cdk.Aws.REGION}"

    def worker(self, memory_mb: int) -> str:
        """The worker function of one memory size."""
        return self.of(f"worker-{memory_mb}")

    def function_arn(self, name: str) -> str:
        """ARN of a function in this account and region."""
        return _arn("lambda", f"function:{name}")

    def state_machine_arn(self) -> str:
        """ARN of the state machine that runs jobs."""
        return _arn("states", f"stateMachine:{self.of('jobs')}")

    def job_executions_arn(self, which: str) -> str:
        """ARN pattern of executions of that state machine."""
        return _arn("states", f"execution:{self.of('jobs')}{which}")


def bucket_arn(name: str, key: str = "") -> str:
    """ARN of a bucket, or of the keys in it that match a pattern."""
    return f"arn:{cdk.Aws.PARTITION}:s3:::{name}" + (f"/{key}" if key else "")


def _arn(service: str, resource: str) -> str:
    return f"arn:{cdk.Aws.PARTITION}:{service}:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:{resource}"
