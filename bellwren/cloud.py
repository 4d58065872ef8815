"""The client: start jobs on a deployment, list them, attach to them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from bellwren import layout, spec
from bellwren.deployment import Deployment
from bellwren.errors import NotDeployed
from bellwren.job import Job
from bellwren.options import Options
from bellwren.spec import identity
from bellwren.store import Store

_START_LIMIT_BYTES = 200_000
"""An execution's input may be 262,144 bytes; a larger document goes through storage."""
DEFAULT_STAGE = "dev"


def connect(
    where: str | None = None, *, stage: str | None = None, session: boto3.Session | None = None
) -> Cloud:
    """The deployment of a stage.

    Args:
        where: ``"local"`` for the local cloud that runs on this machine; by default the account and region of the
            environment (``AWS_ENDPOINT_URL`` makes that an emulator).
        stage: name of the stage; by default ``BELLWREN_STAGE``, else the local cloud's, else ``dev``.
        session: the boto3 session to use instead of the environment's.

    Raises:
        NotDeployed: if there is no such deployment.
    """
    access: dict[str, Any] = {}
    if where == "local":
        from bellwren import local  # noqa: PLC0415  the emulator's code is for those who use it

        cloud = local.running()
        if cloud is None:
            raise NotDeployed("no local cloud is running; start it with: bellwren local start")
        access = {"endpoint_url": cloud.endpoint, "region_name": cloud.region, **cloud.credentials}
        stage = stage or cloud.stage
    elif where is not None:
        raise ValueError(
            f'connect({where!r}): allowed are "local" and nothing, which is the environment\'s account'
        )
    stage = stage or os.environ.get("BELLWREN_STAGE") or DEFAULT_STAGE
    clients = _Clients(session or boto3.Session(), access)
    return Cloud(_deployment(stage, clients), clients)


class _Clients:
    """boto3 clients and stores with one set of credentials."""

    def __init__(self, session: boto3.Session, access: dict[str, Any]) -> None:
        self._session = session
        self._access = access
        self._stores: dict[str, Store] = {}

    def client(self, name: str) -> Any:
        return self._session.client(name, **self._access)  # type: ignore[call-overload]

    def store(self, bucket: str) -> Store:
        if bucket not in self._stores:
            self._stores[bucket] = Store(bucket, **self._store_options())
        return self._stores[bucket]

    def _store_options(self) -> dict[str, Any]:
        if self._access:
            return {
                "endpoint": self._access["endpoint_url"],
                "region": self._access["region_name"],
                "access_key_id": self._access["aws_access_key_id"],
                "secret_access_key": self._access["aws_secret_access_key"],
            }
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415  imports boto3 at its top

        # Profiles, SSO and roles are boto3's to resolve; the store asks it for credentials as they run out.
        region = self._session.region_name
        options = {"region": region} if region else {}
        return {"credential_provider": Boto3CredentialProvider(self._session), **options}


class Cloud:
    """One deployed stage."""

    def __init__(self, deployment: Deployment, clients: _Clients) -> None:
        """Use ``connect``."""
        self.deployment = deployment
        self._clients = clients
        self._states = clients.client("stepfunctions")
        self.jobs_store = clients.store(deployment.jobs_bucket)
        self.data_store = clients.store(deployment.data_bucket)

    def __repr__(self) -> str:
        return f"<bellwren.Cloud stage={self.deployment.stage!r} jobs=s3://{self.deployment.jobs_bucket}>"

    def store(self, bucket: str) -> Store:
        """A bucket, with this cloud's credentials."""
        return self._clients.store(bucket)

    def submit(self, document: Mapping[str, Any] | str | Path, *, progress: bool = True) -> Job:
        """Start a job from a job document: a mapping, or the path of a JSON file.

        Raises:
            SpecError: naming every fault of the document; nothing is started then.
        """
        if isinstance(document, str | Path):
            checked = spec.parse(Path(document).read_bytes())
        else:
            checked = spec.from_dict(document)
        return self._start(checked, progress=progress)

    def map(self, function: Callable[[Any], Any], items: Any, **options: Any) -> Job:
        """Call ``function`` on each item; ``.result()`` is the list of results, in item order.

        Args:
            function: any callable.
            items: any iterable, or an input such as ``bellwren.lines("s3://bucket/key")``.
            options: see ``bellwren.Options``.

        Raises:
            PayloadError: naming what cannot be shipped; nothing is uploaded then.
            SpecError: naming the options that are wrong.
        """
        return self._run("map", {"map": function}, items, options)

    def map_reduce(
        self,
        map_function: Callable[[Any], Iterable[tuple[Any, Any]]],
        items: Any,
        reduce_function: Callable[[Any, Iterable[Any]], Any],
        combine: Callable[[Any, Iterable[Any]], Any] | None = None,
        **options: Any,
    ) -> Job:
        """Map each item or record to ``(key, value)`` pairs, group them by key, reduce each group to one value.

        ``.result()`` is a dict. ``reduce_function(key, values)`` gets a one-shot iterator of the key's values in item
        order; ``combine`` has the same shape and runs before the shuffle, on part of a key's values.

        Raises:
            PayloadError, SpecError: as ``map``.
        """
        functions = {"map": map_function, "reduce": reduce_function, "combine": combine}
        return self._run("map_reduce", functions, items, options)

    def jobs(self) -> list[Job]:
        """Every job of the deployment, the latest first."""
        prefix = layout.JOBS
        keys = (entry.key for entry in self.jobs_store.list(prefix))
        ids = {key[len(prefix) :].partition("/")[0] for key in keys if key.endswith("/claim.json")}
        found = [self.job(job_id) for job_id in ids]
        return sorted(found, key=lambda job: str(job.status().get("started_at")), reverse=True)

    def job(self, job_id: str) -> Job:
        """Attach to a job, from whatever process started it.

        Raises:
            KeyError: if there is no such job.
        """
        if self.jobs_store.head(layout.claim(job_id)) is None:
            raise KeyError(
                f"there is no job {job_id!r} in stage {self.deployment.stage!r}; cloud.jobs() lists them"
            )
        return Job(self, job_id)

    def stop_execution(self, job_id: str) -> bool:
        """Stop the job's execution; False if it had ended."""
        claim = self.jobs_store.find_json(layout.claim(job_id))
        if claim is None:
            return False
        try:
            self._states.stop_execution(
                executionArn=claim["execution"], error="Bellwren.Cancelled", cause="cancelled"
            )
        except (self._states.exceptions.ExecutionDoesNotExist, ClientError) as error:
            if "not running" in str(error).lower() or "DoesNotExist" in str(error):
                return False
            raise
        return True

    def _run(
        self,
        kind: str,
        functions: Mapping[str, Callable[..., Any] | None],
        items: Any,
        given: Mapping[str, Any],
    ) -> Job:
        from bellwren.submission import make_document  # noqa: PLC0415  cloudpickle, for those who ship functions

        options = Options.of(given)
        document = make_document(kind, functions, items, options, self)
        return self._start(spec.from_dict(document), progress=options.progress)

    def _start(self, checked: spec.JobSpec, *, progress: bool) -> Job:
        job_id = identity.fresh(checked.name)
        text = checked.to_bytes()
        if len(text) > _START_LIMIT_BYTES:
            key = layout.job(job_id) + "submitted.json"
            self.jobs_store.put(key, text)
            start = json.dumps({"spec_uri": f"s3://{self.deployment.jobs_bucket}/{key}"})
        else:
            start = json.dumps({"spec": checked.to_dict()})
        self._states.start_execution(
            stateMachineArn=self.deployment.state_machine_arn, name=job_id, input=start
        )
        return Job(self, job_id, progress=progress)


def _deployment(stage: str, clients: _Clients) -> Deployment:
    parameters = clients.client("ssm")
    name = layout.deployment_parameter(stage)
    with contextlib.suppress(parameters.exceptions.ParameterNotFound):
        return Deployment.from_parameter(parameters.get_parameter(Name=name)["Parameter"]["Value"])
    where = f"{parameters.meta.region_name} at {parameters.meta.endpoint_url}"
    raise NotDeployed(
        f"no Bellwren is deployed as stage {stage!r} in {where} (there is no SSM parameter {name}); deploy it with: "
        f"cdk deploy --all -c stage={stage}, or name another stage by connect(stage=...) or BELLWREN_STAGE"
    )
