"""The records of a chunk as bytes that sort: read undecoded, which is most of the speed of sorting text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from bellwren.engine import records
from bellwren.engine.operations import Task
from bellwren.engine.sorting.blocks import BlockForm
from bellwren.engine.sorting.forms import Form, LineForm
from bellwren.inputs.chunks import Chunk
from bellwren.inputs.records import record_batches
from bellwren.inputs.source import Piece
from bellwren.inputs.spec import InputSpec
from bellwren.raw import RawForm

_UTF8_MARK = "\xef\xbb\xbf"


def form_of(raw: RawForm) -> Form:
    """How records of this kind are sorted."""
    if raw.newline is None:
        return BlockForm(raw.record_bytes or 1, raw.key_bytes)
    return LineForm(raw.newline.encode("latin-1"), raw.key_bytes)


def batch_of(task: Task, raw: RawForm) -> Any:
    """The records of a task, in the form of a batch.

    Raises:
        InputError: for damaged data; the object and the place are named.
    """
    spec = InputSpec.from_dict(task.stage.input["input"])
    chunk = Chunk.from_dict(task.head["chunk"])
    pieces = records.pieces(task.head, task.body, task.pull)
    if raw.newline is None:
        if "pieces" not in task.head:
            return b"".join(piece.data for piece in pieces)
        # Whole blocks one after the other, as they lie there already.
        return task.body
    return _lines(spec, chunk, pieces)


def _lines(spec: InputSpec, chunk: Chunk, pieces: Iterator[Piece]) -> list[str]:
    """Lines with a character for each byte."""
    newline = None if spec.newline is None else spec.newline_bytes(spec.encoding or "")
    undecoded = replace(spec, encoding="iso8859-1", newline=newline)
    lines: list[str] = []
    for number, group in groupby(pieces, key=attrgetter("segment")):
        segment = chunk.segments[number]
        first = len(lines)
        own = (piece._replace(segment=0) for piece in group)
        for batch in record_batches(undecoded, Chunk((segment,)), own):
            lines += batch
        if spec.encoding == "utf-8" and segment.start == 0 and len(lines) > first:
            lines[first] = lines[first].removeprefix(_UTF8_MARK)
    return lines
