"""Input larger than a worker's memory is streamed, and read again from the start when a runner is lost."""

from __future__ import annotations

import base64
import gzip
import os

import pytest

import bellwren
from bellwren.store import Store
from tests.engine.harness import Engine

LINES = 12_000


@pytest.fixture(scope="session")
def large_gzip() -> bytes:
    """Some 96 MB of lines that hardly compress: above what is sent to a runner at once."""
    lines = (b"%d %b\n" % (n, base64.b64encode(os.urandom(6_000))) for n in range(LINES))
    data = gzip.compress(b"".join(lines), 1)
    assert len(data) > 64 << 20
    return data


@pytest.mark.parametrize("dies_at", [None, 7_000])
def test_a_compressed_object_larger_than_memory_streams_through(
    engine: Engine, large_gzip: bytes, dies_at: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bucket = engine.deployment().data_bucket
    Store(bucket).put("streams/large.txt", large_gzip)
    flag = str(tmp_path_factory.mktemp("flags") / "died")

    def number_of(line: str) -> list[tuple[str, int]]:
        number = int(line.partition(" ")[0])
        if number == dies_at and not os.path.exists(flag):
            with open(flag, "w"):
                pass
            os._exit(1)
        return [("lines", 1), ("sum", number)]

    source = bellwren.lines(f"s3://{bucket}/streams/large.txt")
    outcome = engine.map_reduce(number_of, source, lambda _, values: sum(values), workers=1, memory_mb=192)
    assert outcome.result() == {"lines": LINES, "sum": sum(range(LINES))}
    assert os.path.exists(flag) is (dies_at is not None)
