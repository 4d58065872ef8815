"""Maps that sleep, on the tests' engine: real workers, real storage, and no processor to share."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def sleeping_maps() -> Iterator[Callable[[int, int, float], float]]:
    """A function that runs a map of items that sleep, and says how long its one round of workers took."""
    from tests.engine.harness import Engine
    from tests.engine.proxy import Proxy
    from tests.engine.server import CREDENTIALS, Server

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as environment:
        server = Server(Path(folder))
        for name, value in {"AWS_ENDPOINT_URL": server.endpoint, **CREDENTIALS}.items():
            environment.setenv(name, value)
        proxy = Proxy(server.port)
        engine = Engine(server, proxy)

        def run(workers: int, items: int, item_s: float) -> float:
            def item(x: int) -> int:
                time.sleep(item_s)
                return x

            for _ in range(2):  # the second time in warm environments
                outcome = engine.map(item, range(items), workers=workers)
            return float(outcome.record["compute_s"])

        try:
            yield run
        finally:
            engine.close()
            proxy.close()
            server.stop()
