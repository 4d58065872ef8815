"""A cloud for tests of the client alone: a job is run by a process of this machine, on the bytes that would travel."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from bellwren.framing import Frame
from bellwren.options import Options
from bellwren.payload.items import write_items
from bellwren.payload.pack import pack
from bellwren.payload.pickler import Needs

WORKER = """
import os, pickle, sys, tempfile
from bellwren.engine.calls import Caller
from bellwren.framing import read_frames
from bellwren.payload import codecs, unpack
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
caller = Caller("job", "pickle", 0, ())
os.chdir(tempfile.mkdtemp())
while True:
    try:
        data, sha256, items = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    function = unpack.load(data, sha256=sha256, folder=os.getcwd())
    for index, item in enumerate(read_frames([items])):
        frame = caller.call(function, lambda: codecs.decode(item, "pickle"), index=index)
        pickle.dump((index, tuple(frame)), out)
        out.flush()
    pickle.dump(None, out)
    out.flush()
"""


class Workers:
    """Processes that run jobs, one each at a time; used again when they are free."""

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            process = subprocess.Popen(
                [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._all.append(process)
            return process

    def give_back(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._idle.append(process)

    def close(self) -> None:
        for process in self._all:
            process.kill()
            process.communicate()


class FakeCloud:
    """Starts jobs of an executor; ``started`` holds the number of calls of each."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.deployment = SimpleNamespace(max_workers=4)
        self.started: list[int] = []
        self.options: list[Options] = []
        self.names: list[str] = []
        self.broken: Exception | None = None
        """Raised by every start while it is set."""

    def run_calls(
        self, function: Callable[[Any], Any], calls: list[Any], options: Options, name: str, needs: Needs
    ) -> FakeJob:
        if self.broken:
            raise self.broken
        self.started.append(len(calls))
        self.options.append(options)
        self.names.append(name)
        with write_items(calls) as items:
            items.needs.update(needs)
            payload = pack(function, needs=items.needs)
            work = (payload.data, payload.sha256, items.file.read())
        return FakeJob(self.workers, f"job-{len(self.started)}", work)


class FakeJob:
    """Runs when its results are asked for."""

    def __init__(self, workers: Workers, job_id: str, work: tuple[bytes, str, bytes]) -> None:
        self.id = job_id
        self._workers = workers
        self._work = work

    def arriving_frames(self) -> Iterator[tuple[int, Frame]]:
        process = self._workers.take()
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(self._work, process.stdin)
        process.stdin.flush()
        while found := pickle.load(process.stdout):
            index, (kind, data) = found
            yield index, Frame(kind, data)
        self._workers.give_back(process)

    def exception(self) -> Exception | None:
        return None

    def say_it_goes_on(self) -> None:
        print(f"job {self.id} goes on", file=sys.stderr)
