"""Sorts on the engine, for the tests."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from bellwren.control import sorting
from bellwren.inputs import cutting
from tests.engine.harness import Engine, Outcome


def sort(engine: Engine, items: Any, key: Callable[[Any], Any] | None = None, **options: Any) -> Outcome:
    """What ``cloud.sort`` does."""
    return engine.run(*engine._document("sort", {"key": key}, items, options))


def run(engine: Engine, **document: Any) -> Outcome:
    """A job document, as anyone may write it."""
    return engine.run({"bellwren": 1, **document})


def folder(engine: Engine, *objects: bytes) -> str:
    """Put objects under a prefix of their own, and give its address."""
    prefix = f"in-{uuid.uuid4().hex[:8]}/"
    for number, data in enumerate(objects):
        engine.data.put(f"{prefix}{number:03d}", data)
    return f"s3://{engine.data.bucket}/{prefix}"


def joined(engine: Engine, uri: str) -> bytes:
    """The parts of an output, one after the other."""
    prefix = uri.removeprefix(f"s3://{engine.data.bucket}/")
    return b"".join(engine.data.get(entry.key) for entry in engine.data.list(prefix))


def part_sizes(engine: Engine, uri: str) -> list[int]:
    prefix = uri.removeprefix(f"s3://{engine.data.bucket}/")
    return [entry.size for entry in engine.data.list(prefix)]


def finely(monkeypatch: pytest.MonkeyPatch, run_bytes: int) -> None:
    """Cut small inputs as large ones are cut."""
    monkeypatch.setattr(sorting, "LARGE_RUN_BYTES", run_bytes)
    monkeypatch.setattr(sorting, "READ_BYTES", 0)
    monkeypatch.setattr(sorting, "SMALLEST_SHARE_BYTES", run_bytes)
    monkeypatch.setattr(cutting, "SMALLEST_SHARE_BYTES", run_bytes)
    monkeypatch.setattr(sorting, "SMALLEST_BLOCK_BYTES", 1)
