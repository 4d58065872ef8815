"""Where everything of one deployed stage is: from the SSM parameter for clients, from the environment for functions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Deployment:
    """One deployed stage."""

    stage: str
    jobs_bucket: str
    data_bucket: str
    records_bucket: str
    models_bucket: str
    max_workers: int
    worker_memory_mb: tuple[int, ...]
    worker_functions: Mapping[int, str] = field(default_factory=dict)
    """ARN of the worker function for each memory size in MB."""
    input_buckets: tuple[str, ...] = ()
    """Buckets that jobs may read besides ``data_bucket``."""
    stored_code_only: bool = False
    """Whether jobs may run code from ``code/`` of ``jobs_bucket`` alone."""
    state_machine_arn: str = ""
    prediction_function: str = ""
    collect_function: str = ""
    """The tick of the learning loop."""
    region: str = ""
    account: str = ""
    version: str = ""
    python: str = ""
    """Python minor version of the workers, e.g. ``3.11``."""
    worker_platforms: tuple[str, ...] = ()
    """Platform tags of wheels that load on the workers, best first; empty where they run in this machine's Python."""
    worker_packages: tuple[str, ...] | None = None
    """Distributions that workers have beyond the standard library; None where they have what is installed here."""

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ) -> Deployment:
        """What the control functions and workers are told when they are deployed.

        Raises:
            KeyError: naming the variable that is not set.
        """
        return Deployment(
            stage=environment["BELLWREN_STAGE"],
            jobs_bucket=environment["BELLWREN_JOBS_BUCKET"],
            data_bucket=environment["BELLWREN_DATA_BUCKET"],
            records_bucket=environment["BELLWREN_RECORDS_BUCKET"],
            models_bucket=environment["BELLWREN_MODELS_BUCKET"],
            max_workers=int(environment["BELLWREN_MAX_WORKERS"]),
            worker_memory_mb=tuple(sorted(json.loads(environment["BELLWREN_WORKER_MEMORY_MB"]))),
            worker_functions=_by_memory(json.loads(environment.get("BELLWREN_WORKER_FUNCTIONS", "{}"))),
            input_buckets=tuple(json.loads(environment.get("BELLWREN_INPUT_BUCKETS", "[]"))),
            stored_code_only=json.loads(environment.get("BELLWREN_STORED_CODE_ONLY", "false")),
            region=environment.get("AWS_REGION", ""),
        )

    @staticmethod
    def from_parameter(document: str) -> Deployment:
        """Read the value of the SSM parameter. Fields that this version does not know are passed over."""
        values: dict[str, Any] = json.loads(document)
        values["worker_functions"] = _by_memory(values["worker_functions"])
        values["worker_memory_mb"] = tuple(sorted(values["worker_functions"]))
        values["input_buckets"] = tuple(values.get("input_buckets", ()))
        values["worker_platforms"] = tuple(values.get("worker_platforms", ()))
        packages = values.get("worker_packages")
        values["worker_packages"] = None if packages is None else tuple(packages)
        known = {field.name for field in fields(Deployment)}
        return Deployment(**{name: value for name, value in values.items() if name in known})

    @property
    def readable_buckets(self) -> tuple[str, ...]:
        """Buckets in which a job's input may lie."""
        return (self.data_bucket, self.jobs_bucket, *self.input_buckets)


def _by_memory(functions: Mapping[str, str]) -> dict[int, str]:
    return {int(memory_mb): arn for memory_mb, arn in functions.items()}
