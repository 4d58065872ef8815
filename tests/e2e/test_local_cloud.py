"""What a local cloud does: deploys what changed, is found by clients, enforces IAM, runs functions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from bellwren.local import LocalCloud, look, running
from tests.e2e.tiny_cloud import APP, put_function


def test_a_start_deploys_and_says_where_everything_is(
    bring_up: Callable[..., LocalCloud], tiny_place: Path
) -> None:
    said: list[str] = []
    cloud = bring_up(report=said.append)
    assert said[0] == f"starting on port {cloud.port}"
    assert "deploying 1/1: tiny-dev" in said
    assert running(tiny_place) == cloud
    status = look(tiny_place)
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
    bring_up: Callable[..., LocalCloud], tiny_place: Path
) -> None:
    first = bring_up()
    log = (tiny_place / "deploy.log").stat().st_mtime_ns
    begun = time.monotonic()
    assert bring_up() == first
    assert time.monotonic() - begun < 5
    assert (tiny_place / "deploy.log").stat().st_mtime_ns == log


def test_a_changed_source_is_deployed_on_the_running_cloud(
    bring_up: Callable[..., LocalCloud], tiny_app: Path, tiny_place: Path
) -> None:
    pid = bring_up().pid
    (tiny_app / "app.py").write_text(APP.replace('VERSION = "1"', 'VERSION = "2"'))
    cloud = bring_up()
    assert cloud.pid == pid
    assert look(tiny_place).version == "2"


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
