"""A worker far away: a fresh interpreter in an empty folder, that has Bellwren and nothing of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bellwren.errors import TaskError, TaskFailure
from bellwren.framing import Frame, Kind, read_frames
from bellwren.payload.items import write_items
from bellwren.payload.outcome import rebuild, value_of
from bellwren.payload.pack import Payload, pack

WORKER = """
import sys, pathlib
from bellwren.framing import FrameWriter, read_frames
from bellwren.engine.calls import Caller
from bellwren.payload import codecs, seeding, unpack
seeding.install()
caller = Caller("job", "pickle", 0, ())
folder = pathlib.Path(sys.argv[1])
for number, sha256 in enumerate(sys.argv[2:]):
    data = (folder / f"payload{number}").read_bytes()
    function = unpack.load(data, sha256=sha256, folder=str(folder / "code"))
    with open(folder / f"items{number}", "rb") as items, open(folder / f"results{number}", "wb") as results:
        writer = FrameWriter(results.write)
        for index, item in enumerate(read_frames(items)):
            frame = caller.call(function, lambda: codecs.decode(item, "pickle"), index=index)
            writer.add(*frame)
        writer.close()
"""


def run_payloads(jobs: list[tuple[Payload, bytes]]) -> list[list[Frame]]:
    """Run payloads, each on the bytes of an items file, one after the other in one worker's own process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (payload, items) in enumerate(jobs):
            (folder / f"payload{number}").write_bytes(payload.data)
            (folder / f"items{number}").write_bytes(items)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", WORKER, name, *(payload.sha256 for payload, _ in jobs)],
            cwd=name,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the worker ended with {done.returncode}:\n{done.stderr}")
        return [
            list(read_frames([(folder / f"results{number}").read_bytes()])) for number in range(len(jobs))
        ]


def far_calls(calls: Iterable[tuple[Callable[..., Any], Any]]) -> list[Any]:
    """Each function on its item, shipped apart, in one worker."""
    jobs = []
    for fn, item in calls:
        with write_items([item]) as written:
            jobs.append((pack(fn, needs=written.needs), written.file.read()))
    return [value_or_raise(frames[0], 0) for frames in run_payloads(jobs)]


def far_frames(fn: Callable[..., Any], items: Iterable[Any], **options: Any) -> list[Frame]:
    with write_items(items) as written:
        payload = pack(fn, needs=written.needs, **options)
        return run_payloads([(payload, written.file.read())])[0]


def far_map(fn: Callable[..., Any], items: Iterable[Any], **options: Any) -> list[Any]:
    """Like ``[fn(x) for x in items]``; raises the first item's TaskError."""
    return [value_or_raise(frame, index) for index, frame in enumerate(far_frames(fn, items, **options))]


def value_or_raise(frame: Frame, index: int) -> Any:
    if frame.kind is Kind.FAILURE:
        told, cause = rebuild(frame.data)
        raise TaskError(told) from cause
    return value_of(frame, index=index)


def far_failures(fn: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
    """Values in their places, and for failed items (TaskFailure, exception or None)."""
    return [
        rebuild(frame.data) if frame.kind is Kind.FAILURE else value_of(frame, index=index)
        for index, frame in enumerate(far_frames(fn, items))
    ]


def failure(entry: Any) -> TaskFailure:
    assert isinstance(entry, tuple)
    assert isinstance(entry[0], TaskFailure)
    return entry[0]
