"""The engine and its storage, as in the tests of single faults."""

from __future__ import annotations

from tests.engine.conftest import engine, proxy, server, warm_engine

__all__ = ["engine", "proxy", "server", "warm_engine"]
