"""What runs jobs: the functions around the state machine, the workers, the events that start and end a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm
from constructs import Construct

import bellwren
from bellwren import layout
from infra import environment, permissions, sizes
from infra.code import FunctionCode
from infra.dead_letters import dead_letter_queue
from infra.function import Function
from infra.job_events import JobEnded, SpecDropped
from infra.job_machine import JobMachine
from infra.sizes import Size
from infra.stage import Stage


class Compute(cdk.Stack):
    """Composes the functions, the state machine and its events, and publishes where they are."""

    def __init__(
        self, scope: Construct, id_: str, *, stage: Stage, code: FunctionCode, **options: Any
    ) -> None:
        super().__init__(scope, id_, **options)
        self._stage = stage
        unfinished = dead_letter_queue(self, "UnfinishedJobs", stage=stage, name="unfinished-jobs")
        undelivered = dead_letter_queue(self, "UndeliveredSpecs", stage=stage, name="undelivered-specs")
        workers = {memory_mb: self._worker(memory_mb, code) for memory_mb in stage.settings.worker_memory_mb}
        worker_arns = {str(memory_mb): worker.arn for memory_mb, worker in workers.items()}
        prepare = self._function(
            "prepare", size=sizes.PREPARE, runtime=code.control(), statements=permissions.prepare(stage)
        )
        plan = self._function(
            "plan",
            size=sizes.PLAN,
            runtime=code.control(),
            statements=permissions.plan(stage),
            variables={"BELLWREN_WORKER_FUNCTIONS": self.to_json_string(worker_arns)},
        )
        finish = self._function(
            "finish",
            size=sizes.FINISH,
            runtime=code.control(),
            statements=permissions.finish(stage),
            failures=unfinished,
        )
        conclude = self._function(
            "conclude", size=sizes.CONCLUDE, runtime=code.control(), statements=permissions.conclude(stage)
        )
        machine = JobMachine(
            self,
            "Jobs",
            stage=stage,
            prepare=prepare,
            plan=plan,
            finish=finish,
            conclude=conclude,
            workers=list(workers.values()),
        )
        SpecDropped(self, "SpecDropped", stage=stage, machine=machine, undelivered=undelivered)
        JobEnded(self, "JobEnded", stage=stage, machine=machine, finish=finish, undelivered=unfinished)
        self._publish(machine, worker_arns, code)

    def _worker(self, memory_mb: int, code: FunctionCode) -> Function:
        settings = self._stage.settings
        return self._function(
            f"worker-{memory_mb}",
            module="worker",
            size=Size(memory_mb, settings.worker_timeout_s),
            runtime=code.worker(),
            statements=permissions.worker(self._stage),
            reserved_concurrency=settings.worker_reserved_concurrency,
            subnets=settings.worker_subnets,
            security_groups=settings.worker_security_groups,
        )

    def _function(
        self, name: str, *, module: str = "", variables: Mapping[str, str] | None = None, **options: Any
    ) -> Function:
        return Function(
            self,
            name.title(),
            stage=self._stage,
            name=name,
            module=module or name,
            environment={**environment.deployment(self._stage), **(variables or {})},
            **options,
        )

    def _publish(self, machine: JobMachine, worker_arns: dict[str, str], code: FunctionCode) -> None:
        """Say in one parameter where everything is: all that a client needs to know is the stage's name."""
        settings, names = self._stage.settings, self._stage.names
        where = {
            "stage": settings.stage,
            "region": cdk.Aws.REGION,
            "account": cdk.Aws.ACCOUNT_ID,
            "version": bellwren.__version__,
            "python": settings.python,
            "worker_platforms": code.worker_platforms(),
            "worker_packages": code.worker_packages(),
            "jobs_bucket": names.bucket("jobs"),
            "data_bucket": names.bucket("data"),
            "records_bucket": names.bucket("records"),
            "models_bucket": names.bucket("models"),
            "state_machine_arn": machine.arn,
            "prediction_function": names.of("predict"),
            "collect_function": names.of("collect"),
            "worker_functions": worker_arns,
            "max_workers": settings.max_workers,
            "input_buckets": list(settings.input_buckets),
        }
        ssm.StringParameter(
            self,
            "Deployment",
            parameter_name=layout.deployment_parameter(settings.stage),
            description=f"Where Bellwren {settings.stage} is",
            string_value=self.to_json_string(where),
            # Sixteen sizes, twenty buckets and the workers' packages are more than the 4 KB of a standard parameter.
            # The service makes an advanced one, of 8 KB, only of a value that needs it.
            tier=ssm.ParameterTier.INTELLIGENT_TIERING,
        )
