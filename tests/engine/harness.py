"""Whole jobs without Step Functions: the control functions are called directly, the workers are real processes.

It does what the state machine does, in its order and with its retries, so that a job takes tenths of a second and
hundreds of scripted faults can be tried. What the state machine itself does is tested end to end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bellwren import layout, spec
from bellwren.control.finish import finish
from bellwren.control.plan import plan
from bellwren.control.prepare import prepare
from bellwren.deployment import Deployment
from bellwren.options import Options
from bellwren.results import Results
from bellwren.store import Store
from bellwren.submission import make_document
from tests.engine.proxy import Proxy
from tests.engine.server import CREDENTIALS, Server

ROOT = Path(__file__).resolve().parents[2]
LIVES = 4
"""How often the state machine runs a worker that is lost: once, and three retries."""
PATIENCE_S = 120.0
MARK = "BELLWREN_ENVIRONMENT"
MOST_ROUNDS = 60
_QUIET_INVOCATION_S = 0.2


class EnvironmentLost(Exception):
    """The environment's process died, and with it the invocation."""


class Environment:
    """One warm Lambda environment."""

    def __init__(self, buckets: dict[str, str], endpoint: str, door: int, skew_s: float = 0.0) -> None:
        self.door = door
        self.mark = uuid.uuid4().hex
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "BELLWREN_JOBS_BUCKET": buckets["jobs"],
            "AWS_ENDPOINT_URL": endpoint,
            "SKEW_S": str(skew_s),
            MARK: self.mark,
            **CREDENTIALS,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.environment"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("ENGINE_TEST_LOG") else None,
            env=environment,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def call(self, event: dict[str, Any], *, memory_mb: int, timeout_s: float) -> dict[str, Any]:
        """One invocation; Lambda's own time limit is kept too."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {
            "event": event,
            "memory_mb": memory_mb,
            "timeout_s": timeout_s,
            "request_id": uuid.uuid4().hex,
        }
        overdue = threading.Timer(timeout_s + 1, self.kill)
        overdue.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            overdue.cancel()
        if not line:
            self.kill()
            self.process.wait()
            raise EnvironmentLost
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End it as Lambda does: everything in it, at once."""
        self.process.kill()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> set[int]:
        """Every live process of this environment but the runtime itself."""
        found = set()
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != self.process.pid:
                with contextlib.suppress(OSError):
                    if self.mark.encode() in Path(f"/proc/{name}/environ").read_bytes():
                        found.add(int(name))
        return found

    def close(self) -> None:
        self.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@dataclass
class Outcome:
    """How a job ended."""

    job_id: str
    status: dict[str, Any]
    store: Store
    deployment: Deployment
    lives: list[tuple[str, int, int]] = field(default_factory=list)
    """``(stage, round, worker)`` of every invocation, in order of start."""
    lost: int = 0
    """Invocations that ended in an error."""
    walls_s: list[float] = field(default_factory=list)
    """How long each that ended well took."""
    errors: list[str] = field(default_factory=list)
    """What those said that could say something."""

    @property
    def plan(self) -> dict[str, Any]:
        return self.store.get_json(layout.plan(self.job_id))

    @property
    def record(self) -> dict[str, Any]:
        return self.store.get_json(layout.record(self.job_id))

    @property
    def failures(self) -> dict[int, tuple[str, str]]:
        return {one["index"]: (one["type"], one["message"]) for one in self.status["failures"]}

    def result(self) -> Any:
        assert self.status["status"] == "SUCCEEDED", self.status["error"]
        return self.parts()

    def parts(self) -> Any:
        return Results(self.store, Store, self.job_id, self.plan).collect()


class Engine:
    """Runs jobs on a server, with environments that stay warm from one to the next."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        name = uuid.uuid4().hex[:8]
        self.buckets = {role: f"{role}-{name}" for role in ("jobs", "data", "records", "models")}
        for bucket in self.buckets.values():
            server.create_bucket(bucket)
        self.proxy = proxy
        proxy.kill = self._kill_door
        self._free: list[Environment] = []
        self._all: dict[int, Environment] = {}
        self._lock = threading.Lock()
        self.store = Store(self.buckets["jobs"])
        self.data = Store(self.buckets["data"])

    def deployment(self, memory_mb: int = 1769) -> Deployment:
        return Deployment(
            stage="engine",
            **{f"{role}_bucket": bucket for role, bucket in self.buckets.items()},
            max_workers=64,
            worker_memory_mb=(memory_mb,),
            worker_functions={memory_mb: "arn:worker"},
        )

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def map(self, function: Callable[[Any], Any], items: Any, **options: Any) -> Outcome:
        return self.run(*self._document("map", {"map": function}, items, options))

    def map_reduce(
        self, function: Any, items: Any, reduce: Any, combine: Any = None, **options: Any
    ) -> Outcome:
        functions = {"map": function, "reduce": reduce, "combine": combine}
        return self.run(*self._document("map_reduce", functions, items, options))

    def _document(
        self, kind: str, functions: dict[str, Any], items: Any, options: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        running = {name: options.pop(name) for name in RUNNING if name in options}
        cloud: Any = SimpleNamespace(jobs_store=self.store)
        return make_document(kind, functions, items, Options.of(options), cloud), running

    def run(self, document: dict[str, Any], running: dict[str, Any] | None = None) -> Outcome:
        """A job from its document to its end, as the state machine runs it."""
        checked = spec.from_dict(document)
        name = f"job-{uuid.uuid4().hex[:12]}"
        return self.execute({"spec": checked.to_dict()}, name, **(running or {}))

    def execute(
        self,
        started: dict[str, Any],
        name: str,
        *,
        memory_mb: int = 1769,
        timeout_s: float = 60.0,
        lives: int = LIVES,
        launch: Callable[[list[int]], list[int]] = lambda workers: workers,
        before_round: Callable[[dict[str, Any]], None] = lambda plan: None,
        skew_s: tuple[float, ...] = (),
    ) -> Outcome:
        """One execution. ``launch`` says which workers start, in order: some may never, some may twice."""
        deployment = self.deployment(memory_mb)
        execution = f"arn:execution:{name}"
        job = prepare(started, execution, name, deployment)
        outcome = Outcome(job["job_id"], {}, self.store, deployment)
        state: dict[str, Any] = {"job": job, "plan": None}
        if job["action"] == "RUN":
            for _ in range(MOST_ROUNDS):
                state["plan"] = plan(state, deployment)
                if state["plan"]["next"] == "FINISH":
                    break
                before_round(state["plan"])
                self._round(
                    job["job_id"], state["plan"], outcome, memory_mb, timeout_s, lives, launch, skew_s
                )
            else:
                raise AssertionError(f"job {job['job_id']} goes on for ever")
            ending = {"job_id": job["job_id"], "error": None, "execution": execution, "name": name}
            finish({**ending, "input": started}, deployment)
        outcome.status = self.store.get_json(layout.status(job["job_id"]))
        return outcome

    def _round(
        self,
        job_id: str,
        answer: dict[str, Any],
        outcome: Outcome,
        memory_mb: int,
        timeout_s: float,
        lives: int,
        launch: Callable[[list[int]], list[int]],
        skew_s: tuple[float, ...],
    ) -> None:
        numbers = launch(answer["workers"])

        def one(worker: int) -> None:
            event = {
                "job_id": job_id,
                "stage": answer["stage"],
                "round": answer["round"],
                "worker": worker,
            }
            for _ in range(lives):
                skew = skew_s[worker % len(skew_s)] if skew_s else 0.0
                with self._environment(skew) as environment:
                    outcome.lives.append((answer["stage"], answer["round"], worker))
                    began = time.monotonic()
                    try:
                        reply = environment.call(event, memory_mb=memory_mb, timeout_s=timeout_s)
                    except EnvironmentLost:
                        outcome.lost += 1
                        continue
                    if "error" not in reply:
                        assert reply["result"] == {}
                        outcome.walls_s.append(time.monotonic() - began)
                        left = environment.processes()
                        assert not left, f"processes {left} outlived their invocation"
                        return
                    outcome.lost += 1
                    outcome.errors.append(reply["error"])

        with ThreadPoolExecutor(max(1, len(numbers))) as threads:
            list(threads.map(one, numbers))

    # -- environments -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _environment(self, skew_s: float = 0.0) -> Iterator[Environment]:
        if skew_s:
            environment = self._start(skew_s)
        else:
            with self._lock:
                environment = self._free.pop() if self._free else None
            environment = environment or self._start()
        try:
            yield environment
        finally:
            alive = environment.process.poll() is None and not skew_s
            if alive:
                with self._lock:
                    self._free.append(environment)
            else:
                environment.close()
                self._all.pop(environment.door, None)

    def _start(self, skew_s: float = 0.0) -> Environment:
        door, port = self.proxy.open_door()
        environment = Environment(self.buckets, f"http://127.0.0.1:{port}", door, skew_s)
        self._all[door] = environment
        return environment

    def stretch(self) -> float:
        """How much longer than on a quiet machine an invocation takes just now, at least 1: times of tests that depend
        on what fits into an invocation are multiplied by it.
        """
        walls_s = [self.map(abs, [-1], workers=1).walls_s[0] for _ in range(2)]
        return max(1.0, min(walls_s) / _QUIET_INVOCATION_S)

    def cancel_after(self, job_id: str, seconds: float) -> None:
        """What ``Job.cancel`` leaves in storage, a while from now."""
        threading.Timer(seconds, self.store.put, (layout.cancel(job_id), b"{}")).start()

    def _kill_door(self, door: int) -> None:
        if door in self._all:
            self._all[door].kill()

    def close(self) -> None:
        for environment in list(self._all.values()):
            environment.close()


RUNNING = ("memory_mb", "timeout_s", "lives", "launch", "before_round", "skew_s")
"""Options of ``Engine.execute`` among those of a job (``memory_mb`` is the only size that there is)."""
