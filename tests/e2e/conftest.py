"""A local cloud with Bellwren deployed on it, IAM enforced, shared by all end-to-end tests of a session."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from bellwren.local import LocalCloud, start, stop
from bellwren.local.access import MISLEADING_VARIABLES
from tests.e2e.tiny_cloud import bring_up, free_port, tiny_app, tiny_place

REUSED = os.environ.get("BELLWREN_TEST_CLOUD")
"""Directory of a local cloud to use and to leave running, for quick rounds while developing; changed sources are
deployed on it first."""

__all__ = ["bring_up", "tiny_app", "tiny_place"]  # fixtures

STAGE = "test"
_HERE = Path(__file__).parent
_SHOWN_LOG_LINES = 40


@dataclass(frozen=True)
class Deployment:
    """Where the tested deployment is."""

    cloud: LocalCloud
    endpoint: str
    credentials: dict[str, str]
    """``aws_access_key_id`` and ``aws_secret_access_key`` of the caller."""
    region: str
    stage: str
    published: dict[str, Any]
    """What the deployment says about itself in SSM."""

    def client(self, service: str) -> Any:
        """A boto3 client with the caller's credentials."""
        return self.cloud.client(service)


@pytest.fixture(scope="session")
def local_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    if REUSED:
        yield start(directory=REUSED, stage=STAGE)
        return
    directory = tmp_path_factory.mktemp("cloud")
    try:
        # The owner: even a killed pytest leaves nothing running.
        yield start(directory=directory, stage=STAGE, owner_pid=os.getpid(), port=free_port())
    finally:
        stop(directory)


@pytest.fixture(scope="session")
def deployment(local_cloud: LocalCloud) -> Deployment:
    published = local_cloud.deployment()
    assert published is not None
    return Deployment(
        cloud=local_cloud,
        endpoint=local_cloud.endpoint,
        credentials=local_cloud.credentials,
        region=local_cloud.region,
        stage=local_cloud.stage,
        published=published,
    )


@pytest.fixture
def cloud_endpoint(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> str:
    """The endpoint, with this process's environment leading to it as a user's shell does after ``local env``."""
    for name in MISLEADING_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in deployment.cloud.environment().items():
        monkeypatch.setenv(name, value)
    return deployment.endpoint


@pytest.fixture(scope="module")
def cloud(deployment: Deployment) -> Iterator[Cloud]:
    """The client, connected as a user's shell is after ``local env``."""
    environment = pytest.MonkeyPatch()
    for name in MISLEADING_VARIABLES:
        environment.delenv(name, raising=False)
    for name, value in deployment.cloud.environment().items():
        environment.setenv(name, value)
    yield bellwren.connect()
    environment.undo()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of the cloud's log, where the errors of the functions are."""
    report = yield
    cloud = getattr(item, "funcargs", {}).get("local_cloud")
    if report.failed and isinstance(cloud, LocalCloud) and cloud.log.is_file():
        lines = cloud.log.read_text(encoding="utf-8", errors="replace").splitlines()
        report.sections.append((f"end of {cloud.log}", "\n".join(lines[-_SHOWN_LOG_LINES:])))
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.cloud)
