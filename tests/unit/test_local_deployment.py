from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bellwren.local import deployment, processes
from bellwren.local.errors import LocalCloudError
from bellwren.local.toolchain import Toolchain

CONTEXT = deployment.context("dev", {})


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "a checkout"
    for name in ("app.py", "cdk.json", "bellwren/layout.py", "functions/plan.py", "infra/stage.py"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    return root


FakeCdk = Callable[[str], Toolchain]


@pytest.fixture
def fake_cdk(checkout: Path) -> FakeCdk:
    """A toolchain whose "CDK" is the given Python."""

    def make(code: str) -> Toolchain:
        script = checkout / "cdk"
        script.write_text(code)
        return Toolchain(checkout, Path(sys.executable), script)

    return make


def deploy(tools: Toolchain, place: Path) -> list[str]:
    said: list[str] = []
    deployment.deploy(
        tools, CONTEXT, place=place, environment={"AWS_REGION": "us-east-1"}, report=said.append
    )
    return said


def test_nothing_changed_gives_the_same_digest(checkout: Path) -> None:
    assert deployment.digest(checkout, CONTEXT) == deployment.digest(
        checkout, dict(reversed(CONTEXT.items()))
    )


@pytest.mark.parametrize(
    "name", ["app.py", "cdk.json", "bellwren/layout.py", "functions/plan.py", "infra/stage.py"]
)
def test_a_changed_source_changes_the_digest(checkout: Path, name: str) -> None:
    before = deployment.digest(checkout, CONTEXT)
    (checkout / name).write_text("{ }")
    assert deployment.digest(checkout, CONTEXT) != before


def test_a_new_a_renamed_and_a_removed_source_change_the_digest(checkout: Path) -> None:
    seen = [deployment.digest(checkout, CONTEXT)]
    module = checkout / "bellwren" / "new.py"
    module.write_text("")
    seen.append(deployment.digest(checkout, CONTEXT))
    module = module.rename(module.with_name("renamed.py"))
    seen.append(deployment.digest(checkout, CONTEXT))
    assert len(set(seen)) == 3
    module.unlink()
    assert deployment.digest(checkout, CONTEXT) == seen[0]


def test_moving_text_between_two_files_changes_the_digest(checkout: Path) -> None:
    (checkout / "functions/plan.py").write_text("ab")
    (checkout / "infra/stage.py").write_text("c")
    before = deployment.digest(checkout, CONTEXT)
    (checkout / "functions/plan.py").write_text("a")
    (checkout / "infra/stage.py").write_text("bc")
    assert deployment.digest(checkout, CONTEXT) != before


def test_a_setting_and_the_stage_change_the_digest(checkout: Path) -> None:
    contexts = [CONTEXT, deployment.context("prod", {}), deployment.context("dev", {"max_workers": "8"})]
    assert len({deployment.digest(checkout, each) for each in contexts}) == 3


@pytest.mark.parametrize(
    "name",
    ["bellwren/cli/jobs.py", "bellwren/local/x.py", "bellwren/__pycache__/a.pyc", "docs/a.md", "tests/t.py"],
)
def test_what_never_runs_in_the_cloud_is_no_reason_to_deploy(checkout: Path, name: str) -> None:
    before = deployment.digest(checkout, CONTEXT)
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("changed")
    assert deployment.digest(checkout, CONTEXT) == before


def test_a_setting_cannot_undo_what_makes_a_deployment_local() -> None:
    context = deployment.context("dev", {"packaging": "aws", "synthesizer": "default", "max_workers": "8"})
    assert context == {
        "stage": "dev",
        "packaging": "local",
        "synthesizer": "cli-credentials",
        "max_workers": "8",
    }


def test_the_asset_bucket_follows_the_qualifier_of_the_app(checkout: Path) -> None:
    assert deployment.asset_bucket(checkout) == "cdk-hnb659fds-assets-000000000000-us-east-1"
    (checkout / "cdk.json").write_text(json.dumps({"context": {"@aws-cdk/core:bootstrapQualifier": "mine"}}))
    assert deployment.asset_bucket(checkout) == "cdk-mine-assets-000000000000-us-east-1"


def test_a_deployment_says_which_stack_it_is_at(fake_cdk: FakeCdk, tmp_path: Path) -> None:
    tools = fake_cdk(
        "print('✨  Synthesis time: 4s')\n"
        "print('storage (bellwren-dev-storage): deploying... [1/4]')\n"
        "print('compute (bellwren-dev-compute): deploying... [2/4]')"
    )
    assert deploy(tools, tmp_path) == ["deploying 1/4: storage", "deploying 2/4: compute"]
    assert "Synthesis time" in (tmp_path / "deploy.log").read_text(encoding="utf-8")


def test_a_failed_deployment_shows_its_last_lines_and_where_all_of_them_are(
    fake_cdk: FakeCdk, tmp_path: Path
) -> None:
    tools = fake_cdk("import sys\nprint('storage: CREATE_FAILED, the reason')\nsys.exit(3)")
    with pytest.raises(LocalCloudError, match="exit code 3") as caught:
        deploy(tools, tmp_path)
    assert "CREATE_FAILED, the reason" in str(caught.value)
    assert str(tmp_path / "deploy.log") in str(caught.value)
    assert "--fresh" in str(caught.value)


def test_a_deployment_that_hangs_is_ended(
    fake_cdk: FakeCdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "_DEPLOY_TIMEOUT_S", 0.3)
    with pytest.raises(LocalCloudError, match="took longer than"):
        deploy(fake_cdk("import time\ntime.sleep(60)"), tmp_path)


def test_ctrl_c_leaves_nothing_of_the_deployment_running(fake_cdk: FakeCdk, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    tools = fake_cdk(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('storage (x): deploying... [1/1]', flush=True)\n"
        "time.sleep(60)"
    )

    def interrupt(_: str) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            deployment.deploy(tools, CONTEXT, place=tmp_path, environment={}, report=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    until = (
        time.monotonic() + 10
    )  # what is killed is gone a moment later; what is not would sleep for a minute
    while (
        left := [pid for pid in map(int, pids.read_text().split()) if processes.alive(pid)]
    ) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def test_the_cdk_sees_the_local_cloud_and_nothing_of_the_users_aws_settings(
    fake_cdk: FakeCdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("NO_PROXY", "intranet")
    deploy(fake_cdk("import json, os\nprint(json.dumps(dict(os.environ)))"), tmp_path)
    seen = json.loads((tmp_path / "deploy.log").read_text(encoding="utf-8"))
    assert seen["AWS_REGION"] == "us-east-1"
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "CDK_DEFAULT_ACCOUNT"} & seen.keys()
    assert seen["AWS_CONFIG_FILE"] == os.devnull
    assert seen["NO_PROXY"] == seen["no_proxy"] == "intranet,127.0.0.1,localhost"
