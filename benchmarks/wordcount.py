"""Word count of 50 MB with 2 workers against the same tokeniser in one plain Python process, start-up apart."""

from __future__ import annotations

import re
from collections import Counter

from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed
from examples.generated_text import text

_BYTES = 50_000_000
_OBJECTS = 2
_RUNS = 3
_PREFIX = "bench/text-50/"


def run() -> list[Row]:
    """Both ways in turn, on the same bytes."""
    cloud = deployed()
    pieces = [b"".join(text(_BYTES // _OBJECTS, seed=number)) for number in range(_OBJECTS)]
    if sum(entry.size for entry in cloud.data_store.list(_PREFIX)) < _BYTES:
        for number, piece in enumerate(pieces):
            cloud.data_store.put(f"{_PREFIX}{number}.txt", piece)
    document = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{_PREFIX}"},
        "workers": 2,
        "memory_mb": 1769,
    }
    cloud.submit({**document, "items": ["warm"], "input": None}, progress=False).wait()
    ours, plain = [], []
    for _ in range(_RUNS):
        expected: Counter[str] = Counter()
        plain.append(timed(lambda found=expected: _plain(pieces, found)))
        job = cloud.submit(document, progress=False)
        assert job.result() == expected
        ours.append(job.record["compute_s"])
    ours_s, ours_spread = median_of(ours)
    plain_s, plain_spread = median_of(plain)
    ratio = plain_s / ours_s
    return [
        Row("wordcount", "50 MB, one plain process", plain_s, "s", spread=plain_spread),
        Row("wordcount", "50 MB, 2 workers, their stages", ours_s, "s", spread=ours_spread),
        Row("wordcount", "speed-up", ratio, "times", "≥ 1.5", ratio >= 1.5),
    ]


def _plain(pieces: list[bytes], found: Counter[str]) -> None:
    """What anyone would write: the built-in algorithm's words, line by line."""
    words = re.compile("[A-Za-z]+")
    for piece in pieces:
        for line in piece.decode().splitlines():
            found.update(word.lower() for word in words.findall(line))
