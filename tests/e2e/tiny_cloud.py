"""A local cloud with a tiny app in the place of Bellwren's, for the tests of the local cloud itself."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bellwren.local import LocalCloud, processes, start, state, stop

# Writes the cloud assembly of one stack by hand: the CDK library would take seconds to do the same.
APP = """\
import json, os, sys
VERSION = "1"
stage = json.loads(os.environ["CDK_CONTEXT_JSON"])["stage"]
published = {"stage": stage, "version": VERSION, "python": "3.11", "jobs_bucket": f"tiny-{stage}-jobs"}
template = {"Resources": {
    "Jobs": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": published["jobs_bucket"]}},
    "Where": {"Type": "AWS::SSM::Parameter", "Properties": {
        "Name": f"/bellwren/{stage}", "Type": "String", "Value": json.dumps(published)}},
}}
name = f"tiny-{stage}"
manifest = {"version": "36.0.0", "artifacts": {name: {
    "type": "aws:cloudformation:stack", "environment": "aws://000000000000/us-east-1",
    "properties": {"templateFile": f"{name}.template.json", "stackName": name}}}}
out = os.environ["CDK_OUTDIR"]
os.makedirs(out, exist_ok=True)
json.dump(template, open(f"{out}/{name}.template.json", "w"))
json.dump(manifest, open(f"{out}/manifest.json", "w"))
"""

FUNCTION = """\
import os, subprocess, sys, time
def handler(event, context):
    if event.get("busy"):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], env={})
        time.sleep(120)
    had_botocore = "botocore" in sys.modules
    seen = sorted(n for n in os.environ if n.startswith("PYTHON") or n == "MY_SECRET")
    import boto3
    try:
        boto3.client("s3").list_buckets()
        allowed = True
    except Exception as error:
        allowed = type(error).__name__ + str(error)
    return {"python": sys.executable, "had_botocore": had_botocore, "seen": seen, "allowed": allowed,
            "zone": time.tzname[0]}
"""


@pytest.fixture(scope="session")
def tiny_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = tmp_path_factory.mktemp("a checkout with spaces")
    (checkout / "app.py").write_text(APP)
    (checkout / "cdk.json").write_text("{}")
    return checkout


@pytest.fixture(scope="session")
def tiny_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("a tiny cloud") / "of mine"
    yield directory
    stop(directory)


@pytest.fixture(scope="session")
def bring_up(tiny_app: Path, tiny_place: Path) -> Callable[..., LocalCloud]:
    """Starts the tiny cloud, as often as wanted."""
    port = free_port()

    def run(**options: Any) -> LocalCloud:
        return start(
            **{
                "directory": tiny_place,
                "checkout": tiny_app,
                "port": port,
                "owner_pid": os.getpid(),
                **options,
            }
        )

    return run


def free_port() -> int:
    """A port that is free, and that the system gives to no connection while the local cloud is down for a moment."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return int(probe.getsockname()[1])


def family(place: Path) -> set[int]:
    known = state.read(place)
    assert known is not None
    return processes.family(known.marker)


def put_function(cloud: LocalCloud, name: str) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("handlers.py", FUNCTION)
    trust = {
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ]
    }
    role = cloud.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    cloud.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.11",
        Role=role["Role"]["Arn"],
        Handler="handlers.handler",
        Code={"ZipFile": code.getvalue()},
        Timeout=300,
    )
