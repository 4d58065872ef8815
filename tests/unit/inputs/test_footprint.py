"""What reading an input costs a process: imports and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORBIDDEN = (
    "boto3",
    "botocore",
    "obstore",
    "numpy",
    "pydantic",
    "pyarrow",
    "zstandard",
    "click",
    "rich",
    "tqdm",
)

_PEAK = """
import gzip, sys, tracemalloc
import bellwren
from bellwren.inputs.chunks import Chunk, Segment
from bellwren.inputs.records import records
from bellwren.inputs.source import InputObject, Piece

how, total = sys.argv[1], int(sys.argv[2])
MIB = 1 << 20
row = "%07d,some words of a row that is about ninety bytes long so that lines are like logs\\n"
block = "".join(row % n for n in range(MIB // len(row % 0))).encode()
if how == "gzip":
    data = gzip.compress(block * (total // len(block)), 1)
    stream = [data[at : at + MIB] for at in range(0, len(data), MIB)]
else:
    stream = [block] * (total // len(block))  # the same bytes again and again: the input itself takes no memory
size = sum(map(len, stream))
spec = {
    "lines": bellwren.lines("s3://bkt/t"),
    "gzip": bellwren.lines("s3://bkt/t"),
    "csv": bellwren.csv("s3://bkt/t", header=False),
    "delimiter": bellwren.lines("s3://bkt/t", newline="s\\n"),
    "blocks": bellwren.blocks("s3://bkt/t", 100),
}[how]

def pieces():
    at = 0
    for data in stream:
        yield Piece(0, at, data)
        at += len(data)

chunk = Chunk((Segment(InputObject("t", size, ""), 0, size, 1),))
tracemalloc.start()
count = sum(1 for _ in records(spec, chunk, pieces()))
print(count, tracemalloc.get_traced_memory()[1])
"""


def test_what_a_worker_imports_for_its_input_is_light() -> None:
    code = (
        "import sys\n"
        "import bellwren.inputs.fetch, bellwren.inputs.records, bellwren.inputs.planning, bellwren.inputs.listing\n"
        "import bellwren.inputs.declare\n"
        f"print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("how", ["lines", "gzip", "csv", "delimiter", "blocks"])
def test_memory_of_a_runner_does_not_grow_with_the_input(how: str) -> None:
    peaks = []
    for total in (4 << 20, 32 << 20):
        command = [sys.executable, "-c", _PEAK, how, str(total)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        count, peak = map(int, done.stdout.split())
        assert count > total // 120
        peaks.append(peak)
    assert peaks[1] < 8 << 20
    assert peaks[1] < peaks[0] + (1 << 20)
