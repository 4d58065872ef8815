"""What a deployment can be told, read from CDK context and checked before anything is built.

Every setting is a plain context key: ``cdk deploy --all -c stage=dev -c worker_memory_mb=1024,2048``, or
``"context"`` in cdk.json. A key that is none of ours and none of CDK's is refused, so that a typing mistake
cannot deploy the default.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from bellwren.errors import Fault
from infra import python_support
from infra.setting_kinds import Kind, choice, flag, number_among, optional, several, text, whole_number

DAY_S = 24 * 60 * 60
_LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653)
_MAX_WORKER_SIZES = 16  # their ARNs stand in one environment variable and one SSM parameter, both of 4 KB


class SettingsError(ValueError):
    """The CDK context has settings that are wrong; ``faults`` lists every one."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        lines = "\n".join(f"  {fault}" for fault in faults)
        super().__init__(f"the CDK context has {len(faults)} wrong setting(s):\n{lines}")


@dataclass(frozen=True)
class Settings:
    """The settings of one deployment (one stage)."""

    stage: str = "dev"
    """Names the deployment; several stages live side by side in one account and region."""
    worker_memory_mb: tuple[int, ...] = (512, 1024, 1769, 3008)
    """Memory sizes between which a job chooses: one worker function each. 1769 MB is one whole vCPU."""
    worker_timeout_s: int = 900
    max_workers: int = 1000
    """Most workers of one job that run at once; keep it below the account's Lambda concurrency."""
    worker_reserved_concurrency: int | None = None
    """Concurrency kept for each worker function, and its upper bound; none shares the account's."""
    worker_architecture: str = "arm64"
    prediction_architecture: str = "x86_64"
    """x86_64, because onnxruntime has open reports of aborting at import on arm64 Lambda."""
    input_buckets: tuple[str, ...] = ()
    """Buckets besides the data bucket that jobs may read."""
    kms_key_arn: str | None = None
    """A KMS key of yours that encrypts the buckets, in the same region; without one S3 encrypts with keys of its own.
    The key's policy must let IAM policies of the account allow its use, as that of a new key does.
    """
    worker_subnets: tuple[str, ...] = ()
    """Private subnets in which the workers run, with a gateway endpoint for S3, which is all that they call: users'
    code then reaches no other place. Without any they run outside a VPC, and it reaches the internet.
    """
    worker_security_groups: tuple[str, ...] = ()
    """Security groups of the workers in their subnets; HTTPS to S3's prefix list is all that they need to let out."""
    permissions_boundary: str | None = None
    """The name of a managed policy of the account that bounds every role of the deployment."""
    stored_code_only: bool = False
    """Whether jobs may run code from ``code/`` of the jobs bucket alone: then who may write there decides what runs.
    Otherwise a document may name a zip in any bucket that the workers read.
    """
    job_timeout_s: int = 2 * DAY_S
    """A job that runs longer is ended by the state machine."""
    working_key_expiry_days: int = 14
    """The engine's working keys vanish this long after they were written."""
    log_retention_days: int = 30
    retraining_schedule: str = "rate(1 hour)"
    """When new execution records are looked for; a Scheduler expression."""
    alarm_email: str | None = None
    """Who is told of alarms. Without one the alarms and their topic exist, and tell nobody."""
    python: str = python_support.running()
    """Python minor version of the functions; the clients' must be the same."""
    packaging: str = "aws"
    """``aws``: the assets carry wheels for Lambda. ``local``: source only, for an emulator in this
    environment.
    """
    synthesizer: str = "default"
    """``cli-credentials`` deploys with the caller's own credentials instead of the bootstrap roles."""
    nag: bool = False
    """Checks the templates with cdk-nag at synthesis."""

    @property
    def tls_only(self) -> bool:
        """Whether storage and queues refuse plain HTTP: always on AWS. The emulator speaks nothing else, on
        loopback.
        """
        return self.packaging == "aws"

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Settings:
        """Read the settings among CDK context keys.

        Raises:
            SettingsError: a key is unknown, a value is not allowed, or two settings contradict each other.
        """
        given: dict[str, Any] = {}
        faults = []
        for key, found in context.items():
            if key not in _KINDS:
                faults += [] if _belongs_to_cdk(key) else [_unknown(key)]
                continue
            try:
                given[key] = _KINDS[key].parse(found)
            except ValueError:
                faults.append(Fault(key, repr(found), _KINDS[key].allowed))
        settings = replace(cls(), **given)
        faults += _contradictions(settings)
        if faults:
            raise SettingsError(faults)
        return settings


_KINDS: dict[str, Kind] = {
    "stage": text(
        r"[a-z](-?[a-z0-9]){0,15}", "1 to 16 lower-case letters, digits and single hyphens, first a letter"
    ),
    "worker_memory_mb": several(whole_number(128, 10_240), low=1, high=_MAX_WORKER_SIZES),
    "worker_timeout_s": whole_number(30, 900),
    "max_workers": whole_number(1, 10_000),
    "worker_reserved_concurrency": optional(whole_number(1, 100_000)),
    "worker_architecture": choice("arm64", "x86_64"),
    "prediction_architecture": choice("arm64", "x86_64"),
    "input_buckets": several(
        text(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket's name, without s3://"), low=0, high=20
    ),
    "kms_key_arn": optional(
        text(
            r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/(mrk-)?[0-9a-f-]{32,36}",
            "the ARN of a KMS key, arn:aws:kms:<region>:<account>:key/<id>, not of an alias",
        )
    ),
    "worker_subnets": several(
        text(r"subnet-[0-9a-f]{8,17}", "the id of a subnet, subnet-..."), low=0, high=16
    ),
    "worker_security_groups": several(
        text(r"sg-[0-9a-f]{8,17}", "the id of a security group, sg-..."), low=0, high=5
    ),
    "permissions_boundary": optional(text(r"[\w+=,.@-]{1,128}", "the name of a managed policy, not its ARN")),
    "stored_code_only": flag(),
    "job_timeout_s": whole_number(60, 365 * DAY_S),
    "working_key_expiry_days": whole_number(1, 3650),
    "log_retention_days": number_among(_LOG_RETENTION_DAYS),
    "retraining_schedule": text(
        r"rate\([1-9]\d* (minute|hour|day)s?\)|cron\(\S+( \S+){5}\)",
        "rate(<n> minutes|hours|days) or cron(<six fields>)",
    ),
    "alarm_email": optional(text(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address")),
    "python": Kind(
        f"a Lambda runtime that Bellwren supports: {', '.join(python_support.RUNTIMES)}; "
        "write it in quotes in cdk.json",
        text(r"\d+\.\d+", "").parse,
    ),
    "packaging": choice("aws", "local"),
    "synthesizer": choice("default", "cli-credentials"),
    "nag": flag(),
}
assert set(_KINDS) == {field.name for field in fields(Settings)}


def _belongs_to_cdk(key: str) -> bool:
    """CDK's flags start with ``@``, its options and the look-ups that it caches have a colon in their name."""
    return key.startswith(("@", "cdk-", "aws-cdk")) or ":" in key


def _unknown(key: str) -> Fault:
    near = difflib.get_close_matches(key, _KINDS, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return Fault(key, "a setting that does not exist", f"{hint}the settings are {', '.join(_KINDS)}")


def _contradictions(settings: Settings) -> list[Fault]:
    """Values that are allowed each by itself, but not together."""
    faults = []
    python, here = settings.python, python_support.running()
    if python not in python_support.RUNTIMES:
        faults.append(
            Fault("python", python, f"{_KINDS['python'].allowed}; deploy from an environment of one of them")
        )
    elif settings.packaging == "local" and python != here:
        faults.append(
            Fault("python", f"{python} with packaging=local", f"{here}, in which the emulator runs them")
        )
    reserved = settings.worker_reserved_concurrency
    if reserved is not None and reserved < settings.max_workers:
        faults.append(
            Fault(
                "worker_reserved_concurrency", str(reserved), f"at least max_workers ({settings.max_workers})"
            )
        )
    if bool(settings.worker_subnets) != bool(settings.worker_security_groups):
        empty = "worker_security_groups" if settings.worker_subnets else "worker_subnets"
        faults.append(Fault(empty, "nothing", "both worker_subnets and worker_security_groups, or neither"))
    if settings.working_key_expiry_days * DAY_S <= settings.job_timeout_s:
        found = f"{settings.working_key_expiry_days} day(s)"
        longest = f"{settings.job_timeout_s / DAY_S:.1f} days"
        faults.append(
            Fault(
                "working_key_expiry_days", found, f"longer than a job may run (job_timeout_s, {longest}), "
                "or a job's working keys would vanish under it",
            )
        )  # fmt: skip
    return faults
