"""The results of an earlier job as input: a task is one part of them, read from storage as it was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bellwren import framing, layout
from bellwren.engine.attempt import Work
from bellwren.engine.failed import FailedItem
from bellwren.engine.io import Pool
from bellwren.engine.stage import Stage
from bellwren.errors import InputError
from bellwren.framing import Kind
from bellwren.parts import encoded_results, read_part
from bellwren.payload.codecs import decode
from bellwren.payload.failure import failure_frame


class ResultSource:
    """Parts of an earlier job's result."""

    def __init__(self, io: Pool, stage: Stage, table: dict[str, Any]) -> None:
        self._io = io
        self._input = stage.input
        self._parts = table["parts"]

    async def load(self, task: int) -> Work:
        """Fetch one part.

        Raises:
            InputError: if it is gone.
        """
        part, first, count, _ = self._parts[task]
        key = self._input["prefix"] + layout.part(part, self._input["format"])
        try:
            data = await self._io.get(self._input["bucket"], key)
        except FileNotFoundError as error:
            raise InputError(
                f"a part of the results of job {self._input['job_id']} is gone: {error}"
            ) from error
        head = {"kind": "results", "first": first, "count": count}
        return Work(task, head, [data], bytes_in=len(data))


def read(source: dict[str, Any], head: dict[str, Any], body: memoryview) -> Iterator[Callable[[], Any]]:
    """For each result of a part, in order, a function that gives it.

    Raises:
        InputError: if the part is damaged, or holds another number of results than it did.
    """
    name = f"a part of the results of job {source['job_id']}"
    number = 0
    for given in (
        _pickled(body, name) if source["format"] == "pickle" else _lines(body, pairs=source["pairs"])
    ):
        number += 1
        yield given
    if number != head["count"]:
        raise InputError(f"{name} holds {number} result(s), and held {head['count']} when the job began")


def _pickled(body: memoryview, name: str) -> Iterator[Callable[[], Any]]:
    for frame in framing.read_frames([bytes(body)], name=name):
        yield FailedItem(frame.data) if frame.kind is Kind.FAILURE else partial(decode, frame, "pickle")


def _lines(body: memoryview, *, pairs: bool) -> Iterator[Callable[[], Any]]:
    for line, failed in encoded_results("jsonl", bytes(body)):
        if failed:
            yield FailedItem(failure_frame(next(read_part("jsonl", line))).data)
        else:
            yield partial(_pair if pairs else json.loads, line)


def _pair(line: bytes) -> tuple[Any, Any]:
    pair = json.loads(line)
    return _key(pair["key"]), pair["value"]


def _key(key: Any) -> Any:
    """A key as it was before JSON made an array of a tuple."""
    return tuple(map(_key, key)) if isinstance(key, list) else key
