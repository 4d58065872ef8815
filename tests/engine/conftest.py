"""A bare S3 and an engine on it, shared by all tests of a session; each job has its own keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.harness import Engine
from tests.engine.proxy import Proxy
from tests.engine.server import CREDENTIALS, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def proxy(server: Server) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture(scope="session")
def warm_engine(server: Server, proxy: Proxy) -> Iterator[Engine]:
    environment = pytest.MonkeyPatch()
    for name, value in {"AWS_ENDPOINT_URL": server.endpoint, **CREDENTIALS}.items():
        environment.setenv(name, value)
    engine = Engine(server, proxy)
    environment.undo()
    yield engine
    engine.close()


@pytest.fixture
def engine(warm_engine: Engine, server: Server, monkeypatch: pytest.MonkeyPatch) -> Engine:
    for name, value in {"AWS_ENDPOINT_URL": server.endpoint, **CREDENTIALS}.items():
        monkeypatch.setenv(name, value)
    return warm_engine
