"""Checks of a deployed stage, each with what was found and what to do. They read, and change nothing.

A check that may not look, or has nothing to look at (an emulator lacks services), says so and is no problem by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from botocore.exceptions import BotoCoreError, ClientError

from bellwren import __version__
from bellwren.client import rights
from bellwren.dead_letters import DEAD_LETTERS
from bellwren.deployment import Deployment

Level = Literal["ok", "unknown", "warning", "problem"]

KEPT_UNRESERVED = 100
"""Concurrent executions that Lambda keeps for functions without a reservation."""
OLD = timedelta(days=90)
"""A model that has seen no training for this long is worth a look."""
CONTROL = ("prepare", "predict", "plan", "finish", "conclude", "collect", "train")
"""Functions besides the workers."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    level: Level
    found: str
    todo: str = ""
    """What to do; empty where nothing is."""

    def as_dict(self) -> dict[str, str]:
        """For ``--json``."""
        return asdict(self)


@dataclass(frozen=True)
class Patient:
    """The deployment that is examined, and the ways to it."""

    deployment: Deployment
    client: Callable[[str], Any]
    """boto3 client by service."""
    models: Callable[[], list[dict[str, Any]]]
    """The model in service of every algorithm, as ``cloud.models.list()`` says it."""
    now: datetime

    def name(self, what: str) -> str:
        """Name of a resource of the stage."""
        return f"bellwren-{self.deployment.stage}-{what}"


def examine(patient: Patient) -> list[Finding]:
    """Every check, in an order from what breaks all jobs to what makes forecasts worse."""
    checks: dict[str, Callable[[Patient], Iterable[Finding]]] = {
        "version": versions,
        "functions": functions,
        "permissions": permissions,
        "quota": quota,
        "queues": queues,
        "alarms": alarms,
        "models": models,
    }
    findings = []
    for name, check in checks.items():
        try:
            findings += list(check(patient))
        except (ClientError, BotoCoreError) as error:
            findings.append(_could_not_look(name, error))
    return findings


def versions(patient: Patient) -> Iterator[Finding]:
    """Client and deployment must be of one version, and of one Python, since functions travel as pickles."""
    deployed, python = patient.deployment.version, f"{sys.version_info.major}.{sys.version_info.minor}"
    if deployed == __version__:
        yield Finding("version", "ok", f"client and deployment are Bellwren {deployed}")
    else:
        yield Finding(
            "version",
            "problem",
            f"the deployment is Bellwren {deployed or 'of an unknown version'}, this client {__version__}",
            f"deploy this version (cdk deploy --all -c stage={patient.deployment.stage}), "
            f"or install bellwren=={deployed}",
        )
    if patient.deployment.python in ("", python):
        yield Finding("python", "ok", f"client and workers run Python {python}")
    else:
        yield Finding(
            "python",
            "problem",
            f"workers run Python {patient.deployment.python}, this client {python}: functions cannot be shipped",
            f"use Python {patient.deployment.python} here, or deploy from an environment of Python {python}",
        )


def functions(patient: Patient) -> Iterator[Finding]:
    """Every function is there, ready, and was updated well."""
    client = patient.client("lambda")
    names = [*CONTROL, *(f"worker-{memory_mb}" for memory_mb in patient.deployment.worker_memory_mb)]
    wrong = []
    for name in names:
        try:
            found = client.get_function_configuration(FunctionName=patient.name(name))
        except ClientError as error:
            if _code(error) != "ResourceNotFoundException":
                raise
            wrong.append(Finding("functions", "problem", f"{patient.name(name)} is not there", _DEPLOY))
            continue
        state, update = found.get("State", "Active"), found.get("LastUpdateStatus", "Successful")
        if (state, update) not in (("Active", "Successful"), ("Inactive", "Successful")):
            reason = found.get("StateReason") or found.get("LastUpdateStatusReason") or "no reason given"
            said = f"{patient.name(name)} is {state}, its last update {update}: {reason}"
            wrong.append(Finding("functions", "problem", said, _DEPLOY))
    yield from wrong or [Finding("functions", "ok", f"all {len(names)} functions are ready")]


_DEPLOY = "look at the events of its stack in CloudFormation, and deploy again: cdk deploy --all"


def permissions(patient: Patient) -> Iterator[Finding]:
    """Whether the caller may do what submitting a job, cancelling it and reading its result takes."""
    caller = patient.client("sts").get_caller_identity()["Arn"]
    principal = _principal(caller)
    if principal is None:
        yield Finding("permissions", "ok", f"{caller} is the account's owner and may do all of it")
        return
    denied = []
    for actions, resources in rights.of_users(patient.deployment):
        answer = patient.client("iam").simulate_principal_policy(
            PolicySourceArn=principal,
            ActionNames=actions,
            ResourceArns=[one.replace("*", "x") for one in resources],
        )
        found = answer["EvaluationResults"]
        denied += [one["EvalActionName"] for one in found if one["EvalDecision"] != "allowed"]
    if denied:
        denied = list(dict.fromkeys(denied))
        todo = "give the caller these rights: `bellwren doctor --policy` prints all of them as an IAM policy"
        yield Finding("permissions", "problem", f"{principal} lacks {', '.join(denied)}", todo)
    else:
        yield Finding("permissions", "ok", f"{principal} may submit jobs and read results")


def _principal(caller: str) -> str | None:
    """The user or role behind a session; None for the root of an account (and of an emulator)."""
    head, _, rest = caller.rpartition(":")
    if rest == "root":
        return None
    if rest.startswith("assumed-role/"):
        account = head.replace(":sts:", ":iam:")
        return f"{account}:role/{rest.split('/')[1]}"
    return caller


def quota(patient: Patient) -> Iterator[Finding]:
    """Whether the account lets as many workers run at once as a job may have."""
    limits = patient.client("lambda").get_account_settings()["AccountLimit"]
    allowed, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    wanted, room = patient.deployment.max_workers, max(0, free - KEPT_UNRESERVED)
    said = f"the account runs {allowed} functions at once, {free} of them unreserved; a job may have {wanted} workers"
    if wanted <= room:
        yield Finding("quota", "ok", said)
    else:
        yield Finding(
            "quota",
            "warning",
            f"{said}: large jobs will be throttled, and slower than forecast",
            f"deploy with -c max_workers={max(1, room)}, or ask for more at Service Quotas, AWS Lambda, "
            "Concurrent executions (L-B99A9384)",
        )


def queues(patient: Patient) -> Iterator[Finding]:
    """Whether something lies where nothing should."""
    client = patient.client("sqs")
    wrong = []
    for queue, advice in DEAD_LETTERS.items():
        url = client.get_queue_url(QueueName=patient.name(queue))["QueueUrl"]
        asked = client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        lying = int(asked["Attributes"]["ApproximateNumberOfMessages"])
        if lying:
            said = f"{lying} message(s) lie in {patient.name(queue)}"
            wrong.append(Finding("queues", "problem", said, f"{advice} (docs/operate.md, {queue})"))
    yield from wrong or [Finding("queues", "ok", f"all {len(DEAD_LETTERS)} dead-letter queues are empty")]


def alarms(patient: Patient) -> Iterator[Finding]:
    """Alarms that ring now."""
    pages = patient.client("cloudwatch").get_paginator("describe_alarms")
    ringing = [
        alarm
        for page in pages.paginate(AlarmNamePrefix=patient.name(""), StateValue="ALARM")
        for alarm in page["MetricAlarms"]
    ]
    for alarm in ringing:
        name = alarm["AlarmName"].removeprefix(patient.name(""))
        yield Finding(
            "alarms",
            "problem",
            f"the alarm {name} rings: {alarm.get('AlarmDescription', '')}",
            f"docs/operate.md, {name}",
        )
    if not ringing:
        yield Finding("alarms", "ok", "no alarm rings")


def models(patient: Patient) -> Iterator[Finding]:
    """Trainings that failed, forecasts that drifted, models that are old."""
    found = patient.models()
    wrong = []
    for one in found:
        name, last = one["algorithm"], one["last"] or {}
        if last.get("outcome") == "FAILED":
            said = f"the last training of {name} failed: {last.get('reason')}"
            wrong.append(Finding("models", "problem", said, f"bellwren retrain {name} --wait"))
        if (one["calibration"] or {}).get("drifted"):
            said = f"the forecasts of {name} drifted: {one['calibration'].get('reason')}"
            todo = f"bellwren models show {name}; if it is another workload now, give it a name of its own (algorithm=)"
            wrong.append(Finding("models", "warning", said, todo))
        trained = one["trained_at"]
        if trained and patient.now - _moment(trained) > OLD:
            days = (patient.now - _moment(trained)).days
            said = f"the model of {name} is {days} days old"
            todo = f"bellwren retrain {name}, if its jobs still run"
            wrong.append(Finding("models", "warning", said, todo))
    serving = sum(bool(one["version"]) for one in found)
    yield from wrong or [Finding("models", "ok", f"{serving} model(s) serve, all in their band")]


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _could_not_look(check: str, error: Exception) -> Finding:
    if isinstance(error, ClientError):
        asked = error.operation_name
        todo = (
            f"give the caller the right to call {asked}, or ask someone who has it" if _denied(error) else ""
        )
        return Finding(
            check, "unknown", f"{asked}: {error.response['Error'].get('Message') or _code(error)}", todo
        )
    return Finding(check, "unknown", str(error))


def _denied(error: ClientError) -> bool:
    return "Denied" in _code(error) or "Unauthorized" in _code(error)


def _code(error: ClientError) -> str:
    return str(error.response["Error"].get("Code", ""))
