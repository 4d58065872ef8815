"""The life of a local cloud: started, found, crashed, stopped, with a tiny app in the place of Bellwren's."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from bellwren.local import LocalCloud, LocalCloudError, look, processes, running, serving, start, state, stop

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


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = tmp_path_factory.mktemp("a checkout with spaces")
    (checkout / "app.py").write_text(APP)
    (checkout / "cdk.json").write_text("{}")
    return checkout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("a cloud") / "of mine"
    yield directory
    stop(directory)


@pytest.fixture(scope="module")
def bring_up(app: Path, place: Path) -> Callable[..., LocalCloud]:
    """Starts the module's cloud, as often as wanted."""
    port = free_port()

    def run(**options: Any) -> LocalCloud:
        return start(
            **{"directory": place, "checkout": app, "port": port, "owner_pid": os.getpid(), **options}
        )

    return run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
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


def test_a_start_deploys_and_says_where_everything_is(
    bring_up: Callable[..., LocalCloud], place: Path
) -> None:
    said: list[str] = []
    cloud = bring_up(report=said.append)
    assert said[0] == f"starting on port {cloud.port}"
    assert "deploying 1/1: tiny-dev" in said
    assert running(place) == cloud
    status = look(place)
    assert (status.state, status.stage, status.version) == ("running", "dev", "1")
    assert (status.endpoint, status.jobs_bucket) == (cloud.endpoint, "tiny-dev-jobs")


def test_any_aws_client_reaches_it_through_the_printed_variables(
    bring_up: Callable[..., LocalCloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bring_up().environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    published = boto3.client("ssm").get_parameter(Name="/bellwren/dev")["Parameter"]["Value"]
    assert json.loads(published)["jobs_bucket"] == "tiny-dev-jobs"


def test_it_is_found_whatever_the_user_has_set_up_for_aws(
    bring_up: Callable[..., LocalCloud], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cloud = bring_up()
    (tmp_path / "config").write_text(
        "[profile work]\nregion = eu-west-1\nendpoint_url = http://127.0.0.1:9\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another account")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert cloud.deployment() is not None


def test_a_second_start_deploys_nothing_and_is_quick(
    bring_up: Callable[..., LocalCloud], place: Path
) -> None:
    first = bring_up()
    log = (place / "deploy.log").stat().st_mtime_ns
    begun = time.monotonic()
    assert bring_up() == first
    assert time.monotonic() - begun < 5
    assert (place / "deploy.log").stat().st_mtime_ns == log


def test_a_changed_source_is_deployed_on_the_running_cloud(
    bring_up: Callable[..., LocalCloud], app: Path, place: Path
) -> None:
    pid = bring_up().pid
    (app / "app.py").write_text(APP.replace('VERSION = "1"', 'VERSION = "2"'))
    cloud = bring_up()
    assert cloud.pid == pid
    assert look(place).version == "2"


def test_another_stage_stands_beside_the_first(bring_up: Callable[..., LocalCloud]) -> None:
    assert bring_up(stage="prod").stage == "prod"
    assert bring_up(stage="dev").deployment("prod") is not None


def test_iam_is_enforced_for_all_but_the_root_user(bring_up: Callable[..., LocalCloud]) -> None:
    cloud = bring_up()
    iam = cloud.client("iam")
    iam.create_user(UserName="guest")
    key = iam.create_access_key(UserName="guest")["AccessKey"]
    guest = boto3.client(
        "s3",
        endpoint_url=cloud.endpoint,
        region_name=cloud.region,
        aws_access_key_id=key["AccessKeyId"],
        aws_secret_access_key=key["SecretAccessKey"],
    )
    with pytest.raises(ClientError, match="AccessDenied"):
        guest.list_objects_v2(Bucket="tiny-dev-jobs")


def test_a_function_runs_in_this_interpreter_with_its_own_role_and_a_clean_environment(
    bring_up: Callable[..., LocalCloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = bring_up()
    put_function(cloud, "probe")
    answer = json.loads(cloud.client("lambda").invoke(FunctionName="probe", Payload="{}")["Payload"].read())
    assert answer["python"] == sys.executable
    assert answer["had_botocore"] is False
    assert answer["seen"] == []
    assert answer["zone"] == "UTC"
    assert "AccessDenied" in answer["allowed"]


def test_stop_ends_the_server_and_every_process_below_it_and_the_next_start_has_everything_again(
    bring_up: Callable[..., LocalCloud], place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="specs/a b+%é.json", Body=b"kept")
    put_function(cloud, "busy")
    cloud.client("lambda").invoke(FunctionName="busy", Payload='{"busy": true}', InvocationType="Event")
    deadline = time.monotonic() + 20
    # The server, a warm function of an earlier test perhaps, the busy function and its child.
    while len(family(place)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = family(place)
    assert stop(place)
    assert not any(processes.alive(pid) for pid in alive)
    assert running(place) is None
    assert look(place).state == "stopped"
    assert not stop(place)

    said: list[str] = []
    again = bring_up(report=said.append)
    assert again.port == cloud.port
    assert said == [f"starting on port {cloud.port}"]
    body = again.client("s3").get_object(Bucket="tiny-dev-jobs", Key="specs/a b+%é.json")["Body"].read()
    assert body == b"kept"


def test_a_killed_server_is_told_and_the_next_start_repairs_it(
    bring_up: Callable[..., LocalCloud], place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="after-the-deployment", Body=b"kept")
    os.kill(cloud.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while running(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert look(place).state == "crashed"
    again = bring_up()
    assert again.pid != cloud.pid
    assert look(place).state == "running"
    assert (
        again.client("s3").head_object(Bucket="tiny-dev-jobs", Key="after-the-deployment")["ContentLength"]
        == 4
    )


def test_a_server_that_hangs_is_told_and_replaced(
    bring_up: Callable[..., LocalCloud], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = bring_up()
    monkeypatch.setattr("bellwren.local.ports._ANSWER_S", 1.0)
    os.kill(cloud.pid, signal.SIGSTOP)
    assert look(place).state == "unresponsive"
    assert bring_up().pid != cloud.pid
    assert not processes.alive(cloud.pid)


def test_a_lost_state_file_is_no_lost_cloud(bring_up: Callable[..., LocalCloud], place: Path) -> None:
    cloud = bring_up()
    state.forget(place)
    again = bring_up()
    assert not processes.alive(cloud.pid)
    assert again.deployment() is not None


def test_fresh_deletes_jobs_and_buckets_even_when_the_state_is_damaged(
    bring_up: Callable[..., LocalCloud], place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="old", Body=b"")
    (place / "cloud.json").write_text("{ damaged")
    with pytest.raises(LocalCloudError, match="--fresh"):
        running(place)
    again = bring_up(fresh=True)
    assert not processes.alive(cloud.pid)
    assert again.client("s3").list_objects_v2(Bucket="tiny-dev-jobs")["KeyCount"] == 0


def test_two_clouds_live_side_by_side(bring_up: Callable[..., LocalCloud], tmp_path: Path) -> None:
    one = bring_up()
    known = serving.launch(tmp_path, state.State(0, "dev", "", "", "", None), free_port(), os.getpid())
    try:
        other = LocalCloud(known.port, known.stage, tmp_path, known.pid or 0)
        other.client("s3").create_bucket(Bucket="tiny-dev-jobs")
        other.client("s3").put_object(Bucket="tiny-dev-jobs", Key="of the other", Body=b"")
        assert one.client("s3").list_objects_v2(Bucket="tiny-dev-jobs")["KeyCount"] == 0
    finally:
        assert stop(tmp_path)
    assert look(one.directory).state == "running"


def test_a_port_of_another_local_cloud_is_refused_with_the_way_to_stop_that(
    bring_up: Callable[..., LocalCloud], app: Path, tmp_path: Path
) -> None:
    cloud = bring_up()
    with pytest.raises(LocalCloudError, match=f"local stop --dir '{cloud.directory}'"):
        start(directory=tmp_path, checkout=app, port=cloud.port)
    assert look(tmp_path).state == "stopped"


def test_a_first_deployment_that_fails_leaves_nothing_running_and_the_next_start_begins_afresh(
    app: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "cdk.json").write_text("{}")
    # The bucket is made, then the stack fails: a second try on the same cloud would find the bucket there.
    broken = APP.replace('"Type": "String", "Value"', '"Type": "no such type", "Valu"')
    (checkout / "app.py").write_text(broken)
    place = tmp_path / "cloud"
    try:
        with pytest.raises(LocalCloudError, match="`cdk deploy` ended with exit code 1"):
            start(directory=place, checkout=checkout, port=free_port(), owner_pid=os.getpid())
        assert family(place) == set()
        (checkout / "app.py").write_text(APP)
        said: list[str] = []
        cloud = start(
            directory=place, checkout=checkout, port=free_port(), owner_pid=os.getpid(), report=said.append
        )
        assert said[0] == "beginning afresh after a failed start"
        assert cloud.deployment() is not None
    finally:
        stop(place)


def test_a_later_deployment_that_fails_leaves_the_cloud_running_with_the_old_one(
    bring_up: Callable[..., LocalCloud], app: Path, place: Path
) -> None:
    cloud = bring_up()
    good = (app / "app.py").read_text()
    try:
        (app / "app.py").write_text("raise SystemExit('the stage is misspelt')")
        with pytest.raises(LocalCloudError, match="the stage is misspelt"):
            bring_up()
        assert running(place) == cloud
        assert cloud.deployment() is not None
    finally:
        (app / "app.py").write_text(good)


def test_a_cloud_with_an_owner_ends_when_the_owner_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "from bellwren.local import serving, state\n"
        "known = state.State(0, 'dev', '', '', '', None)\n"
        f"known = serving.launch(pathlib.Path({str(tmp_path)!r}), known, {free_port()}, os.getpid())\n"
        "print(known.pid, flush=True)\n"
        "time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    server = int(owner.stdout.readline())
    assert processes.alive(server)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 10
    while processes.alive(server) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes.alive(server)
