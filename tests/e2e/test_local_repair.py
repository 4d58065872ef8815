"""A local cloud that is stopped, killed, hangs, lost its state, or was never whole: told, and repaired by a start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bellwren.local import LocalCloud, LocalCloudError, look, processes, running, serving, start, state, stop
from tests.e2e.tiny_cloud import APP, family, free_port, put_function


def test_stop_ends_the_server_and_every_process_below_it_and_the_next_start_has_everything_again(
    bring_up: Callable[..., LocalCloud], tiny_place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="specs/a b+%é.json", Body=b"kept")
    put_function(cloud, "busy")
    cloud.client("lambda").invoke(FunctionName="busy", Payload='{"busy": true}', InvocationType="Event")
    deadline = time.monotonic() + 20
    # The server, a warm function of an earlier test perhaps, the busy function and its child.
    while len(family(tiny_place)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = family(tiny_place)
    assert stop(tiny_place)
    assert not any(processes.alive(pid) for pid in alive)
    assert running(tiny_place) is None
    assert look(tiny_place).state == "stopped"
    assert not stop(tiny_place)

    said: list[str] = []
    again = bring_up(report=said.append)
    assert again.port == cloud.port
    assert said == [f"starting on port {cloud.port}"]
    body = again.client("s3").get_object(Bucket="tiny-dev-jobs", Key="specs/a b+%é.json")["Body"].read()
    assert body == b"kept"


def test_a_killed_server_is_told_and_the_next_start_repairs_it(
    bring_up: Callable[..., LocalCloud], tiny_place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="after-the-deployment", Body=b"kept")
    os.kill(cloud.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while running(tiny_place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert look(tiny_place).state == "crashed"
    again = bring_up()
    assert again.pid != cloud.pid
    assert look(tiny_place).state == "running"
    assert (
        again.client("s3").head_object(Bucket="tiny-dev-jobs", Key="after-the-deployment")["ContentLength"]
        == 4
    )


def test_a_server_that_hangs_is_told_and_replaced(
    bring_up: Callable[..., LocalCloud], tiny_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = bring_up()
    monkeypatch.setattr("bellwren.local.ports._ANSWER_S", 1.0)
    os.kill(cloud.pid, signal.SIGSTOP)
    assert look(tiny_place).state == "unresponsive"
    assert bring_up().pid != cloud.pid
    assert not processes.alive(cloud.pid)


def test_a_lost_state_file_is_no_lost_cloud(bring_up: Callable[..., LocalCloud], tiny_place: Path) -> None:
    cloud = bring_up()
    state.forget(tiny_place)
    again = bring_up()
    assert not processes.alive(cloud.pid)
    assert again.deployment() is not None


def test_fresh_deletes_jobs_and_buckets_even_when_the_state_is_damaged(
    bring_up: Callable[..., LocalCloud], tiny_place: Path
) -> None:
    cloud = bring_up()
    cloud.client("s3").put_object(Bucket="tiny-dev-jobs", Key="old", Body=b"")
    (tiny_place / "cloud.json").write_text("{ damaged")
    with pytest.raises(LocalCloudError, match="--fresh"):
        running(tiny_place)
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
    bring_up: Callable[..., LocalCloud], tiny_app: Path, tmp_path: Path
) -> None:
    cloud = bring_up()
    with pytest.raises(LocalCloudError, match=f"local stop --dir '{cloud.directory}'"):
        start(directory=tmp_path, checkout=tiny_app, port=cloud.port)
    assert look(tmp_path).state == "stopped"


def test_a_first_deployment_that_fails_leaves_nothing_running_and_the_next_start_begins_afresh(
    tiny_app: Path, tmp_path: Path
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
    bring_up: Callable[..., LocalCloud], tiny_app: Path, tiny_place: Path
) -> None:
    cloud = bring_up()
    good = (tiny_app / "app.py").read_text()
    try:
        (tiny_app / "app.py").write_text("raise SystemExit('the stage is misspelt')")
        with pytest.raises(LocalCloudError, match="the stage is misspelt"):
            bring_up()
        assert running(tiny_place) == cloud
        assert cloud.deployment() is not None
    finally:
        (tiny_app / "app.py").write_text(good)


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
