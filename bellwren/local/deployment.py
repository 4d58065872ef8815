"""The real ``cdk deploy`` of the checkout onto the local cloud, and when it may be left out."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bellwren.local.errors import LocalCloudError
from bellwren.local.settings import ACCOUNT, REGION, no_proxy
from bellwren.local.toolchain import Toolchain

_SOURCES = ("app.py", "cdk.json", "bellwren", "functions", "infra", "training")
# What runs on the client's side only: a change of it is no reason to deploy.
_CLIENT_ONLY = ("bellwren/cli", "bellwren/local")
_DEPLOY_TIMEOUT_S = 900.0
_SHOWN_LINES = 15
_STEP = re.compile(r"^(?P<stack>\S+)(?: \(.+\))?: deploying\.\.\. \[(?P<step>\d+)/(?P<steps>\d+)\]")
_NOISE = re.compile(
    r"^\s*$|^WARNING|Construct Annotations|^\s+Acknowledge with|: (start|success): |Synthesis time"
)


def context(stage: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The CDK context of a local deployment: the caller's settings, and what differs from AWS."""
    return {**settings, "stage": stage, "packaging": "local", "synthesizer": "cli-credentials"}


def digest(checkout: Path, cdk_context: Mapping[str, str]) -> str:
    """SHA-256 over everything that can change what is deployed: sources, settings, Python, the CDK."""
    total = hashlib.sha256()
    facts = [sorted(cdk_context.items()), sys.version_info[:2], version("aws-cdk-lib")]
    total.update(json.dumps(facts).encode())
    for name, file in _sources(checkout):
        content = file.read_bytes()
        total.update(f"\0{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def digest_parameter(stage: str) -> str:
    """Name of the SSM parameter with the digest of what is deployed.

    It lies in the cloud and not beside it, so that a cloud that lost its last deployment lost this too.
    """
    return f"/bellwren-local/{stage}/digest"


def deploy(
    tools: Toolchain,
    cdk_context: Mapping[str, str],
    *,
    place: Path,
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> None:
    """Run ``cdk deploy --all``; its whole output goes to ``deploy.log`` in ``place``.

    Args:
        tools: what to run.
        cdk_context: see :func:`context`.
        place: directory of the cloud.
        environment: variables that lead to the cloud.
        report: is told which stack is being deployed.

    Raises:
        LocalCloudError: it failed or took longer than 15 minutes.
    """
    log = place / "deploy.log"
    command = [str(tools.node), str(tools.cdk), "deploy", "--all"]
    command += ["--app", f"{shlex.quote(sys.executable)} app.py", "--output", str(place / "cdk.out")]
    command += ["--require-approval", "never", "--no-notices", "--ci"]
    command += [word for key, value in cdk_context.items() for word in ("-c", f"{key}={value}")]
    tail: deque[str] = deque(maxlen=_SHOWN_LINES)
    with log.open("w", encoding="utf-8") as written:

        def each(line: str) -> None:
            written.write(line)
            if step := _STEP.match(line):
                report(f"deploying {step['step']}/{step['steps']}: {step['stack']}")
            if not _NOISE.search(line):
                tail.append(f"    {line.rstrip()}")

        failure = _run(command, tools.checkout, _cdk_environment(tools, environment), each)
    if failure is not None:
        raise LocalCloudError(
            f"`cdk deploy` {failure}; its last lines:\n{chr(10).join(tail)}\n"
            f"All of its output is in {log}. Mend the cause and start again; "
            "`bellwren local start --fresh` begins with an empty cloud (this deletes its jobs and buckets)."
        )


def _run(
    command: list[str], folder: Path, environment: dict[str, str], each: Callable[[str], None]
) -> str | None:
    """Run to the end and hand on each line; None on success, else how it failed.

    It has a session of its own, of which nothing is left whatever happens, Ctrl-C included.
    """
    too_long = threading.Event()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:

        def kill() -> None:
            too_long.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(_DEPLOY_TIMEOUT_S, kill)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                each(line)
            code = process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if too_long.is_set():
        return f"took longer than {_DEPLOY_TIMEOUT_S:.0f} s"
    return None if code == 0 else f"ended with exit code {code}"


def _cdk_environment(tools: Toolchain, environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    folders = [str(tools.node.parent), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {
        **kept,
        **no_proxy(os.environ),
        **environment,
        "PATH": os.pathsep.join(folders),
        "JSII_NODE": str(tools.node),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        # Compiles a rule engine for 7 s of CPU to print warnings; the infra tests look at the templates closer.
        "CDK_VALIDATION": "false",
    }


def asset_bucket(checkout: Path) -> str:
    """The bucket that ``cdk bootstrap`` would make.

    A deployment with the caller's own credentials uses nothing else of the bootstrap, which takes 20 to 50 s.
    """
    settings: dict[str, Any] = json.loads((checkout / "cdk.json").read_text(encoding="utf-8"))
    qualifier = settings.get("context", {}).get("@aws-cdk/core:bootstrapQualifier", "hnb659fds")
    return f"cdk-{qualifier}-assets-{ACCOUNT}-{REGION}"


def _sources(checkout: Path) -> Iterator[tuple[str, Path]]:
    for source in _SOURCES:
        root = checkout / source
        for file in [root] if root.is_file() else sorted(root.rglob("*")):
            name = file.relative_to(checkout).as_posix()
            if file.is_file() and "__pycache__" not in file.parts and not name.startswith(_CLIENT_ONLY):
                yield name, file
