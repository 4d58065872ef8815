"""The client: start jobs on a deployment, list them, attach to them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, NoRegionError

from bellwren import layout, spec
from bellwren.client.executions import Executions
from bellwren.clients import Access, Clients, LocalAccess, SessionAccess
from bellwren.control.status import FINAL
from bellwren.deployment import Deployment
from bellwren.errors import BellwrenError, NestedJob, NotDeployed, SpecError
from bellwren.job import Job
from bellwren.options import Options
from bellwren.spec import strict_json
from bellwren.store import Store

if TYPE_CHECKING:
    from bellwren.client.doctor import Finding
    from bellwren.client.models import Models
    from bellwren.client.records import Records
    from bellwren.executor import Executor
    from bellwren.forecast import Forecast
    from bellwren.payload.pickler import Needs
    from bellwren.spec.inspection import Reading
    from bellwren.tuning.answer import Tuning

DEFAULT_STAGE = "dev"
_PARALLEL = 16


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
        NotDeployed: if there is no such deployment, or no account to look for it.
        NestedJob: within a function that a job runs.

    >>> bellwren.connect()
    <bellwren.Cloud stage='...' jobs=s3://bellwren-...-jobs-...>
    """
    _refuse_within_a_worker()
    if where == "local":
        from bellwren import local  # noqa: PLC0415  the emulator's code is for those who use it

        running = local.running()
        if running is None:
            raise NotDeployed("no local cloud is running; start it with: bellwren local start")
        access: Access = LocalAccess(running)
        named, stage = stage, stage or running.stage
    elif where is not None:
        raise ValueError(
            f'connect({where!r}): allowed are "local" and nothing, which is the environment\'s account; '
            f"a stage is named by connect(stage={where!r})"
        )
    else:
        access = SessionAccess(session)
        named, stage = stage, stage or os.environ.get("BELLWREN_STAGE") or DEFAULT_STAGE
    arguments = [repr(one) for one in (where,) if one] + ([f"stage={named!r}"] if named else [])
    clients = Clients(access)
    return Cloud(_deployment(stage, clients), clients, connect=f"bellwren.connect({', '.join(arguments)})")


class Cloud:
    """One deployed stage; safe to use from many threads."""

    def __init__(
        self, deployment: Deployment, clients: Clients, *, connect: str = "bellwren.connect()"
    ) -> None:
        """Use ``connect``."""
        self.deployment = deployment
        self.connect = connect
        """The expression by which another process gets the same connection, for messages."""
        self._clients = clients
        self.jobs_store = clients.store(deployment.jobs_bucket)
        self.data_store = clients.store(deployment.data_bucket)
        self.executions = Executions(clients.client("stepfunctions"), deployment, self.jobs_store)

    def __repr__(self) -> str:
        return f"<bellwren.Cloud stage={self.deployment.stage!r} jobs=s3://{self.deployment.jobs_bucket}>"

    @property
    def records(self) -> Records:
        """Execution records: list them, import those of other systems.

        >>> cloud.records.latest("no such algorithm")
        []
        """
        from bellwren.client.records import Records  # noqa: PLC0415  few sessions look at records

        return Records(self.store(self.deployment.records_bucket))

    @property
    def models(self) -> Models:
        """Runtime models: list, show, roll back, train anew.

        >>> cloud.models.retrain("no-such-algorithm")
        Traceback (most recent call last):
        bellwren.client.models.NoRecords: there are no records of 'no-such-algorithm'; run a job of it, ...
        """
        from bellwren.client.models import Models  # noqa: PLC0415  few sessions look at models

        functions = self._clients.client("lambda")
        return Models(self.store(self.deployment.models_bucket), functions, self.deployment.collect_function)

    def doctor(self) -> list[Finding]:
        """Check the deployment: each finding says what was found and what to do. Changes nothing.

        >>> cloud.doctor()[0].check
        'version'
        """
        from bellwren.client.doctor import Patient, examine  # noqa: PLC0415  few sessions need it

        return examine(Patient(self.deployment, self._clients.client, self.models.list, datetime.now(UTC)))

    def store(self, bucket: str) -> Store:
        """A bucket, with this cloud's credentials."""
        return self._clients.store(bucket)

    def submit(self, document: Mapping[str, Any] | str | Path, *, progress: bool = True) -> Job:
        """Start a job from a job document: a mapping, or the path of a JSON file.

        Raises:
            SpecError: naming every fault of the document; nothing is started then.
        """
        return self._start(self._checked(_read(document)), progress=progress)

    def map(self, function: Callable[[Any], Any], items: Any, **options: Any) -> Job:
        """Call ``function`` on each item; ``.result()`` is the list of results, in item order.

        Args:
            function: any callable.
            items: any iterable, or an input such as ``bellwren.lines("s3://bucket/key")``, or a job: its results are
                then read from storage by the workers, and do not pass through here. The job need not have ended;
                items that failed in it (within its ``tolerate``) are failures here too, and if it fails, so does this.
            options: see ``bellwren.Options``.

        Raises:
            PayloadError: naming what cannot be shipped; nothing is uploaded then.
            SpecError: naming the options that are wrong.

        >>> squares = cloud.map(lambda x: x * x, range(5))
        >>> cloud.map(lambda x: x + 1, squares).result()
        [1, 2, 5, 10, 17]
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

    def sort(self, items: Any, key: Callable[[Any], Any] | None = None, **options: Any) -> Job:
        """Sort records, keeping those of equal keys in their order; ``.result()`` is the list of them.

        Lines and blocks are written back as they are, so that the parts of the output joined are the sorted whole.

        Args:
            items: any iterable, or an input such as ``bellwren.lines("s3://bucket/in/")``.
            key: ``key(record)`` gives what is compared; by default the record itself. Lines compare as their bytes,
                which for UTF-8 is the order of code points. NaN comes behind every number, None behind NaN.
            options: see ``bellwren.Options``; ``params={"key_bytes": 10}`` compares leading bytes of lines or blocks.

        Raises:
            PayloadError, SpecError: as ``map``.

        >>> cloud.sort([3, 1, None, 2]).result()
        [1, 2, 3, None]
        """
        return self._run("sort", {"key": key}, items, options)

    def bsp(
        self,
        step: Callable[[Any], None],
        partitions: Any,
        max_supersteps: int = 50,
        combine: Callable[[Any, Iterable[Any]], Any] | None = None,
        *,
        resident: bool = True,
        **options: Any,
    ) -> Job:
        """Run supersteps over partitions that send each other messages; ``.result()`` is the list of final states.

        ``step(worker)`` runs one partition in one superstep: it reads ``worker.partition``, ``partitions``,
        ``superstep``, ``state``, ``messages``, ``aggregated`` and ``params``, assigns ``worker.state``, and calls
        ``send(to, message)``, ``aggregate(name, value, how)`` and ``vote_to_halt()``. Messages arrive in the next
        superstep, by sender and in the order of sending.

        Args:
            step: any callable; it returns nothing.
            partitions: an iterable of first states, or how many partitions there are (their states are None), or an
                input such as ``bellwren.lines(...)``, of which each chunk's records are a partition's state.
            max_supersteps: the job ends then, whatever has halted; its status says so.
            combine: ``combine(to, messages)`` makes one message of those that one partition sends to another.
            resident: partitions stay in their workers; False starts the workers anew for each superstep.
            options: see ``bellwren.Options``.

        Raises:
            PayloadError, SpecError: as ``map``.

        >>> def count_down(worker):
        ...     worker.state -= 1
        ...     if worker.state == 0:
        ...         worker.vote_to_halt()
        >>> cloud.bsp(count_down, [1, 1], max_supersteps=5).result()
        [0, 0]
        """
        from bellwren.submission import by_number  # noqa: PLC0415  cloudpickle

        states = by_number("partitions", partitions)
        functions = {"step": step, "combine": combine}
        return self._run("bsp", functions, states, options, max_supersteps=max_supersteps, resident=resident)

    def executor(
        self,
        max_workers: int | None = None,
        *,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        **options: Any,
    ) -> Executor:
        """A ``concurrent.futures.Executor``: ``submit``, ``map``, ``shutdown``, ``with``.

        Args:
            max_workers: the option ``workers`` by the name that it has in the standard library.
            initializer: refused, with what to do instead.
            initargs: likewise.
            options: see ``bellwren.Options``; they hold for every job that the executor starts.

        Raises:
            SpecError: naming the arguments that are wrong.

        >>> with cloud.executor(max_workers=1) as executor:
        ...     list(executor.map(abs, [-1, -2]))
        [1, 2]
        """
        from bellwren.executor import Executor, executor_options  # noqa: PLC0415  cloudpickle

        return Executor(self, executor_options(max_workers, initializer, initargs, options))

    def run_calls(
        self, function: Callable[[Any], Any], calls: list[Any], options: Options, name: str, needs: Needs
    ) -> Job:
        """Start the job of an executor's calls.

        ``name`` is what they are called where the options name nothing; ``needs`` is what they refer to.
        """
        from bellwren.submission import label  # noqa: PLC0415  cloudpickle

        named = replace(
            options,
            name=options.name or name[:200],
            algorithm=options.algorithm or label(options.name or name),
        )
        return self._run("map", {"map": function}, calls, named, needs=needs)

    def parameter_server(
        self,
        train: Callable[[Any], Any],
        shards: Any,
        parameters: Mapping[str, Any],
        staleness: int | None = None,
        **options: Any,
    ) -> Job:
        """Train on shards at once, with parameters that all share; ``.result()`` is the final parameters, by name.

        ``train(worker)`` runs once for each shard, to its end: it reads ``worker.shard``, ``index``, ``shards`` and
        ``params``, and calls ``worker.parameters.pull()`` and ``.push(update, loss=None)``, which adds.

        Args:
            train: any callable; what it returns is dropped.
            shards: an iterable of each shard's data, or how many there are (their data is None), or an input such as
                ``bellwren.lines(...)``, of which each chunk's records are a shard.
            parameters: numbers and arrays by name, as they start.
            staleness: how many updates of others a push may have missed since the last pull; one that missed more is
                not added, and ``push`` returns False. None: no bound.
            options: see ``bellwren.Options``.

        Raises:
            PayloadError, SpecError: as ``map``.

        >>> def train(worker):
        ...     for _ in range(3):
        ...         worker.parameters.push({"n": 1.0})
        >>> cloud.parameter_server(train, 2, {"n": 0.0}).result()
        {'n': 6.0}
        """
        from bellwren.submission import by_number, parameters_payload  # noqa: PLC0415  cloudpickle

        data = by_number("shards", shards)
        fields: dict[str, Any] = {"parameters_payload": parameters_payload(parameters, self.jobs_store)}
        if staleness is not None:
            fields["staleness"] = staleness
        return self._run("parameter_server", {"train": train}, data, options, **fields)

    def forecast(
        self,
        what: Mapping[str, Any] | str | Path,
        input: Any = None,
        *,
        bytes: float | None = None,
        items: int | None = None,
        **options: Any,
    ) -> Forecast:
        """What a job would take and cost at every scale-out, and which one it would choose. Nothing is started.

        Args:
            what: a job document, as for ``submit``; or the name of an algorithm (of an own function: its label).
            input: for an algorithm by name, as for ``map``; its size is looked up.
            bytes: for an algorithm by name without an input, how much data there would be.
            items: likewise, how many items.
            options: for an algorithm by name, see ``bellwren.Options``: ``deadline_s``, ``params`` and so on.

        Raises:
            SpecError: naming what is wrong.

        >>> forecast = cloud.forecast("wordcount", bytes=2e9, deadline_s=600)
        >>> forecast.choice["meets_deadline"]
        True
        >>> print(forecast.table().splitlines()[0])
          workers  memory ...
        """
        from bellwren.forecast_request import ask, question  # noqa: PLC0415  few sessions forecast

        asked = question(self, what, input, Options.of(options), size_bytes=bytes, items=items)
        return ask(self._clients.client("lambda"), self.deployment.prediction_function, asked)

    def tune(
        self,
        document: Mapping[str, Any] | str | Path,
        *,
        memory_mb: Sequence[int] = (),
        workers: Sequence[int] = (1, 2, 4),
        sample: float | None = None,
        repeats: int = 2,
        at_once: int = 4,
        balance: float = 0.5,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Tuning:
        """Run a job on a sample of its input at several memory sizes and scale-outs; say which is best for the whole.

        Sizes that fail are left out and listed. The runs are ordinary jobs, so the learning loop learns from them too.

        Args:
            document: a job document, as for ``submit``.
            memory_mb: sizes to try; by default all that are deployed.
            workers: scale-outs to try, at least two.
            sample: share of the input to run on; by default at most 200 items or 64 MB. Items in the document and
                lines that are not compressed can be sampled; other inputs are run whole.
            repeats: runs of each size.
            at_once: jobs that run at the same time.
            balance: weight of the cost in the balanced choice, from 0 (time alone) to 1 (cost alone).
            progress: called with a line of text whenever a run has ended.

        Ctrl-C cancels the runs.

        Raises:
            SpecError: naming what is wrong with the document or the sample.
            BellwrenError: if too few of the runs succeeded to say anything; it says what failed.

        >>> document = {"bellwren": 1, "algorithm": "wordcount", "items": ["to be or not to be"] * 20}
        >>> found = cloud.tune(document, memory_mb=[512], workers=[1, 2], repeats=1)
        >>> sorted(found["choices"])
        ['balanced', 'cost', 'time']
        >>> sorted(found.options("cost"))
        ['memory_mb', 'workers']
        """
        try:
            from bellwren.tuning import run  # noqa: PLC0415  few sessions tune
        except ImportError as error:
            raise BellwrenError(
                f"tuning needs numpy ({error}); install it with: pip install numpy"
            ) from error

        return run.tune(
            self,
            self._checked(_read(document)),
            memory_mb=memory_mb,
            workers=workers,
            sample=sample,
            repeats=repeats,
            at_once=at_once,
            balance=balance,
            progress=progress,
        )

    def jobs(self) -> list[Job]:
        """Every job of the deployment, the latest first.

        >>> job = cloud.map(abs, [-1], name="the latest")
        >>> job.result()
        [1]
        >>> cloud.jobs()[0].name
        'the latest'
        """
        return [Job(self, one["job_id"]) for one in self.statuses()]

    def statuses(self, known: Mapping[str, dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """The ``status.json`` of every job, the latest first.

        Args:
            known: statuses by job id from an earlier call; those of jobs that had ended are not read again.
        """
        ended = {job_id: one for job_id, one in (known or {}).items() if one["status"] in FINAL}

        def status(job_id: str) -> dict[str, Any]:
            return ended.get(job_id) or Job(self, job_id).status()

        ids = [folder[len(layout.JOBS) : -1] for folder in self.jobs_store.folders(layout.JOBS)]
        with ThreadPoolExecutor(_PARALLEL) as threads:
            begun = [one for one in threads.map(status, ids) if one.get("started_at")]
        return sorted(begun, key=lambda one: (str(one["started_at"]), one["job_id"]), reverse=True)

    def job(self, job_id: str) -> Job:
        """Attach to a job, from whatever process started it.

        Raises:
            KeyError: if there is no such job.

        >>> job = cloud.map(str.upper, ["a"])
        >>> cloud.job(job.id).result()
        ['A']
        """
        if self.jobs_store.head(layout.claim(job_id)) is None and self.executions.find(job_id) is None:
            raise KeyError(
                f"there is no job {job_id!r} in stage {self.deployment.stage!r}; "
                "cloud.jobs(), or `bellwren jobs`, lists them"
            )
        return Job(self, job_id)

    def _checked(self, reading: Reading) -> spec.JobSpec:
        """The document, complete; what it requires is built if it does not come with it."""
        from bellwren.spec.validate import validate  # noqa: PLC0415  pydantic, as late as for the other calls

        try:
            return validate(reading)
        except SpecError as error:
            # Anything else that is wrong is told before pip is asked.
            if [fault.field for fault in error.faults] != ["requirements"] or "bundle" in reading.value:
                raise
        from bellwren.submission import bundled  # noqa: PLC0415  only jobs with requirements need it

        return spec.from_dict(bundled(reading.value, self))

    def _run(
        self,
        kind: str,
        functions: Mapping[str, Callable[..., Any] | None],
        items: Any,
        given: Mapping[str, Any] | Options,
        needs: Needs | None = None,
        **of_the_kind: Any,
    ) -> Job:
        from bellwren.submission import check_python, make_document  # noqa: PLC0415  cloudpickle

        options = given if isinstance(given, Options) else Options.of(given)
        check_python(self.deployment)
        document = make_document(kind, functions, items, options, self, needs=needs, **of_the_kind)
        return self._start(spec.from_dict(document), progress=options.progress)

    def _start(self, checked: spec.JobSpec, *, progress: bool) -> Job:
        job_id = self.executions.start(checked)
        return Job(self, job_id, name=checked.name, progress=progress, document=checked.to_dict())


def _read(document: Mapping[str, Any] | str | Path) -> Reading:
    if isinstance(document, str | Path):
        return strict_json.read(Path(document).read_bytes())
    return strict_json.adopt(document)


def _refuse_within_a_worker() -> None:
    """A job that waits for another holds a worker that the other may need, so it may wait for ever."""
    if os.environ.get("BELLWREN_JOBS_BUCKET") and os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        raise NestedJob(
            "this function runs in a job, and a job cannot be started from inside another job; return the items of "
            "the next job, and start that by cloud.map(function, job)"
        )


_NOT_REACHED: dict[type[Exception], str] = {
    NoRegionError: "set AWS_REGION, or AWS_PROFILE to a profile that has one",
    NoCredentialsError: "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    EndpointConnectionError: "AWS_ENDPOINT_URL, if it is set, must be that of a local cloud that runs",
}
"""What the AWS client says of an account that it can't reach, and what to do."""
_LOCALLY = 'Without an account: `bellwren local start` starts a local cloud, which connect("local"), or --local, uses'


def _deployment(stage: str, clients: Clients) -> Deployment:
    name = layout.deployment_parameter(stage)
    try:
        parameters = clients.client("ssm")
        with contextlib.suppress(parameters.exceptions.ParameterNotFound):
            return Deployment.from_parameter(parameters.get_parameter(Name=name)["Parameter"]["Value"])
    except tuple(_NOT_REACHED) as error:
        raise NotDeployed(f"{str(error).rstrip('.')}: {_NOT_REACHED[type(error)]}. {_LOCALLY}") from error
    where = f"{parameters.meta.region_name} at {parameters.meta.endpoint_url}"
    raise NotDeployed(
        f"no Bellwren is deployed as stage {stage!r} in {where} (there is no SSM parameter {name}); deploy it with: "
        f"cdk deploy --all -c stage={stage}, or name another stage by connect(stage=...) or BELLWREN_STAGE"
    )
