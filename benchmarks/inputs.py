"""How fast inputs become records in one process, beside ``bytes.split`` on the same bytes in the same run.

python benchmarks/inputs.py [megabytes]
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import bellwren
from bellwren.inputs.chunks import Chunk, Segment
from bellwren.inputs.fetch import fetch
from bellwren.inputs.planning import plan_chunks
from bellwren.inputs.quotes import Quotes
from bellwren.inputs.records import record_batches, records
from bellwren.inputs.source import InputObject, Piece
from bellwren.inputs.spec import InputSpec

PIECE_BYTES = 8 << 20
ROUNDS = 5


class Memory:
    """A range reader over bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def get_range(self, bucket: str, key: str, start: int, end: int, *, etag: str) -> bytes:
        return self.data[start:end]


def text(size: int) -> bytes:
    line = "%07d the quick brown fox jumps over the lazy dog again\n"
    return "".join(line % n for n in range(size // len(line % 0))).encode()


def table(size: int) -> bytes:
    row = '%d,"Smith, John",%d.5,"said ""no"" to\nit",2024-01-02\n'
    return ("id,name,price,note,day\n" + "".join(row % (n, n) for n in range(size // 60))).encode()


def consume(things: Iterable[Any]) -> None:
    deque(things, maxlen=0)


def fastest(run: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best


def reading(spec: InputSpec, data: bytes, *, batches: bool = False) -> Callable[[], None]:
    chunk = Chunk((Segment(InputObject("t", len(data), ""), 0, len(data), 1),))
    pieces = [Piece(0, at, data[at : at + PIECE_BYTES]) for at in range(0, len(data), PIECE_BYTES)]
    if batches:
        return lambda: [consume(batch) for batch in record_batches(spec, chunk, pieces)] and None
    return lambda: consume(records(spec, chunk, pieces))


def fetching(spec: InputSpec, data: bytes) -> Callable[[], None]:
    reader = Memory(data)
    source = InputObject("t", len(data), "")
    chunks = list(asyncio.run(plan_chunks(reader, spec, [source], slots=2)))

    async def all_chunks() -> None:
        for chunk in chunks:
            async for _ in fetch(reader, spec, chunk):
                pass

    return lambda: asyncio.run(all_chunks())


def planning(spec: InputSpec, data: bytes) -> Callable[[], None]:
    source = InputObject("t", len(data), "")
    return lambda: consume(asyncio.run(plan_chunks(Memory(data), spec, [source], slots=8)))


def main() -> None:
    size = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 50_000_000
    plain, rows = text(size), table(size)
    crlf, wide = plain.replace(b"\n", b"\r\n"), plain.decode().encode("utf-16-le")
    packed = gzip.compress(plain, 6)
    lines = bellwren.lines
    uri = "s3://bkt/t"
    quotes = Quotes(b",", b'"')
    runs: list[tuple[str, int, Callable[[], None]]] = [
        ('data.split(b"\\n")', len(plain), lambda: consume(plain.split(b"\n"))),
        ('data.decode().split("\\n")', len(plain), lambda: consume(plain.decode().split("\n"))),
        ("io.TextIOWrapper", len(plain), lambda: consume(io.TextIOWrapper(io.BytesIO(plain), "utf-8"))),
        ("lines, bytes", len(plain), reading(lines(uri, encoding=None), plain)),
        ("lines, text", len(plain), reading(lines(uri), plain)),
        ("lines, text, in batches", len(plain), reading(lines(uri), plain, batches=True)),
        ("lines, text with CR LF", len(crlf), reading(lines(uri), crlf)),
        ("lines, UTF-16", len(wide), reading(lines(uri, encoding="utf-16-le"), wide)),
        ('lines, newline="\\r\\n"', len(crlf), reading(lines(uri, newline="\r\n"), crlf)),
        ("lines, gzip (MB of text)", len(plain), reading(lines(uri), packed)),
        ("fetch of all chunks", len(plain), fetching(lines(uri), plain)),
        ("csv.reader", len(rows), lambda: consume(csv.reader(io.StringIO(rows.decode(), newline="")))),
        ("csv, lists", len(rows), reading(bellwren.csv(uri, header=False), rows)),
        ("csv, dicts", len(rows), reading(bellwren.csv(uri), rows)),
        ("planning of csv with quotes", len(rows), planning(bellwren.csv(uri), rows)),
        (
            "the parser's states alone",
            len(rows),
            lambda: consume([quotes.advance(rows, 0, len(rows), "row")]),
        ),
        ("blocks of 100 bytes", len(plain), reading(bellwren.blocks(uri, 100), plain)),
    ]
    base = None
    for name, length, run in runs:
        seconds = fastest(run)
        base = base or seconds / length
        print(f"{name:32} {length / seconds / 1e6:8.0f} MB/s  {seconds / length / base:6.2f} x split")


if __name__ == "__main__":
    main()
