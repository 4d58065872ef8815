"""A worker far away: a fresh interpreter in an empty folder, that has Bellwren and nothing of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bellwren.errors import TaskFailure
from bellwren.framing import Frame, Kind, read_frames
from bellwren.payload.items import write_items
from bellwren.payload.outcome import rebuild, task_error, value_of
from bellwren.payload.pack import Payload, pack

WORKER = """
import sys, pathlib
from bellwren.framing import FrameWriter, read_frames
from bellwren.payload import outcome, unpack
folder = pathlib.Path(sys.argv[1])
data = (folder / "payload").read_bytes()
function = unpack.load(data, sha256=sys.argv[2], folder=str(folder / "code"))
with open(folder / "items", "rb") as items, open(folder / "results", "wb") as results:
    writer = FrameWriter(results.write)
    for index, item in enumerate(read_frames(items)):
        frame = outcome.run(function, item, job_id="job", index=index)
        writer.add(*frame)
    writer.close()
"""


def run_payload(payload: Payload, items: bytes, worker: str = WORKER) -> list[Frame]:
    """Run a payload on the bytes of an items file, in the worker's own process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "payload").write_bytes(payload.data)
        (folder / "items").write_bytes(items)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", worker, name, payload.sha256],
            cwd=name,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the worker ended with {done.returncode}:\n{done.stderr}")
        with (folder / "results").open("rb") as results:
            return list(read_frames(results))


def far_frames(fn: Callable[..., Any], items: Iterable[Any], **options: Any) -> list[Frame]:
    with write_items(items) as written:
        payload = pack(fn, needs=written.needs, **options)
        return run_payload(payload, written.file.read())


def far_map(fn: Callable[..., Any], items: Iterable[Any], **options: Any) -> list[Any]:
    """Like ``[fn(x) for x in items]``; raises the first item's TaskError."""
    results = []
    for index, frame in enumerate(far_frames(fn, items, **options)):
        if frame.kind is Kind.FAILURE:
            raise task_error(frame.data)
        results.append(value_of(frame, index=index))
    return results


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
