"""Input larger than a worker's memory is streamed, and read again from the start when a runner is lost."""

from __future__ import annotations

import bz2
import gzip
import os
from typing import Any

import pytest

import bellwren
from bellwren.store import Store
from tests.engine.harness import Engine


@pytest.fixture(params=["gzip", "bzip2"])
def large_text(engine: Engine, request: Any) -> str:
    """Some 120 MB of lines, compressed to far less; random padding keeps it above the streaming bound."""
    lines = b"".join(b"%d %b\n" % (number, os.urandom(4_000).hex().encode()) for number in range(12_000))
    data = gzip.compress(lines, 1) if request.param == "gzip" else bz2.compress(lines, 9)
    deployment = engine.deployment()
    key = f"streams/{request.param}.txt"
    Store(deployment.data_bucket).put(key, data)
    return f"s3://{deployment.data_bucket}/{key}"


def dies_once(line: str) -> list[tuple[str, int]]:
    """Loses its runner the first time that it sees line 7,000."""
    number = int(line.partition(" ")[0])
    flag = "/tmp/bellwren-test-dies-once-" + line[-16:]
    if number == 7_000 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os._exit(1)
    if number == 11_999 and os.path.exists(flag):
        os.remove(flag)
    return [("lines", 1), ("sum", number)]


def test_a_compressed_object_larger_than_memory_streams_through(engine: Engine, large_text: str) -> None:
    outcome = engine.map_reduce(
        dies_once, bellwren.lines(large_text), lambda _, values: sum(values), workers=1, memory_mb=192
    )
    assert outcome.result() == {"lines": 12_000, "sum": sum(range(12_000))}
