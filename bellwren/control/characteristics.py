"""What the data of a built-in algorithm is like, measured from a small sample of it before the job runs.

These numbers are part of a job's context: two inputs of one size can take times that are far apart, because few or all
lines match, or words repeat or do not. The places that are looked at depend on the input alone, so the same input has
the same numbers each time.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bellwren.inputs.compression import MAGIC_BYTES, recognise

PLACES = 4
PLACE_BYTES = 1 << 16
"""Four requests of 64 KiB at once: some 30 ms, and numbers that are good to a few per cent."""
_LONGEST_LINE = 200
"""Characters of a line that patterns are tried on."""
_REPEATS = re.compile(r"[*+?{]")


@dataclass(frozen=True)
class Sample:
    """Some of an input's bytes."""

    pieces: tuple[bytes, ...]
    """Whole lines, where the input is text; without what lies between them."""
    compressed: bool = False
    """Whether its objects are, so that they can't be divided."""


Read = Callable[[str, int, int, str], bytes]
"""(key, start, end, etag) -> bytes of an object."""


def take_sample(objects: Sequence[Sequence[Any]], read: Read) -> Sample:
    """Look at some places, evenly over the input.

    Args:
        objects: ``[key, size, etag]`` of each.
        read: reads a range.

    Raises:
        InputError: if an object is gone or changed.
    """
    found = places([size for _, size, _ in objects])
    if not found:
        return Sample(())
    key, size, etag = objects[found[0][0]]
    head = read(key, 0, min(size, PLACE_BYTES), etag)
    kind = recognise(head[:MAGIC_BYTES])
    if kind != "none":
        return Sample((_unpacked(head),) if kind == "gzip" else (), compressed=True)

    def piece(place: tuple[int, int]) -> bytes:
        number, start = place
        key, size, etag = objects[number]
        end = min(size, start + PLACE_BYTES)
        return _whole_lines(read(key, start, end, etag), at_start=start == 0, at_end=end == size)

    with ThreadPoolExecutor(PLACES) as threads:
        return Sample(tuple(threads.map(piece, found)))


def places(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Which objects to look into, and from which byte: evenly over all bytes, in order, none twice."""
    total = sum(sizes)
    wished = [total * (2 * at + 1) // (2 * PLACES) for at in range(PLACES)] if total else []
    found: list[tuple[int, int]] = []
    number = before = 0
    for at in wished:
        while at >= before + sizes[number]:
            before += sizes[number]
            number += 1
        start = max(0, min(at - before, sizes[number] - PLACE_BYTES))
        if (number, start) not in found:
            found.append((number, start))
    return found


def describe(algorithm: str, params: Mapping[str, Any], sample: Sample) -> dict[str, float]:
    """The characteristics of a sample, by name; none of a sample that holds no line.

    ``line_bytes``: mean length. ``compressed_share``: what is left of it when it is compressed. ``match_share`` (grep):
    lines in which the pattern is found. ``distinct_share`` (wordcount): different words to all words. ``columns``
    (kmeans, sgd): numbers in a row. A pattern that may take very long is not tried.
    """
    text = b"".join(sample.pieces)
    lines = text.decode("utf-8", "replace").splitlines()
    if not lines:
        return {}
    found = {
        "line_bytes": len(text) / len(lines),
        "compressed_share": len(zlib.compress(text, 1)) / len(text),
    }
    pattern = params.get("pattern")
    if pattern is not None and is_quick(pattern):
        short = [line[:_LONGEST_LINE] for line in lines]
        found |= _matched(algorithm, params, short)
    if algorithm in ("kmeans", "sgd"):
        found["columns"] = float(
            sorted(len(line.replace(",", " ").split()) for line in lines)[len(lines) // 2]
        )
    # More digits than a sample is good for would tell nothing.
    return {name: float(f"{value:.2g}") for name, value in found.items()}


def is_quick(pattern: str) -> bool:
    """Whether a regular expression can't take more than quadratic time: no groups, and one repetition at most."""
    return "(" not in pattern and len(_REPEATS.findall(pattern)) <= 1


def _matched(algorithm: str, params: Mapping[str, Any], lines: list[str]) -> dict[str, float]:
    if algorithm == "grep":
        sought = re.compile(params["pattern"], re.IGNORECASE if params.get("ignore_case") else 0)
        return {"match_share": sum(sought.search(line) is not None for line in lines) / len(lines)}
    if algorithm == "wordcount":
        sought = re.compile(params["pattern"])
        words = [
            word for line in lines for word in sought.findall(line.lower() if params.get("lower") else line)
        ]
        return {"distinct_share": len(set(words)) / len(words)} if words else {}
    return {}


def _whole_lines(piece: bytes, *, at_start: bool, at_end: bool) -> bytes:
    """Without the ends of lines that are not all there."""
    first = 0 if at_start else piece.find(b"\n") + 1
    last = len(piece) if at_end else piece.rfind(b"\n") + 1
    return piece[first:last]


def _unpacked(head: bytes) -> bytes:
    """As much of a gzip object as its head gives; damage is for the job itself to tell."""
    try:
        return _whole_lines(
            zlib.decompressobj(wbits=47).decompress(head, PLACES * PLACE_BYTES), at_start=True, at_end=False
        )
    except zlib.error:
        return b""
