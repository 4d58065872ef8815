"""Reported faults of comparable systems, group C: exceptions, crashes, output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from bellwren import Cloud, TaskFailure

PROGRAM = """
import sys, time, bellwren
cloud = bellwren.connect()
def sleeper(x):
    import time
    time.sleep(300)
job = cloud.map(sleeper, [1], workers=1)
print(job.id, flush=True)
job.result()
"""


def test_c01_c03_c04_c06_c08_c12_every_way_to_fail_costs_its_own_item_and_says_what_it_was(
    cloud: Cloud,
) -> None:
    class Http(Exception):
        def __init__(self, status: int, *, body: str) -> None:
            super().__init__(f"{status} {body}")
            self.status = status

    class NoArg(Exception):
        def __init__(self) -> None:
            super().__init__("fixed text")

    class Bad(Exception):
        def __reduce__(self) -> Any:
            raise RuntimeError("no")

        def __str__(self) -> str:
            raise RuntimeError("no str")

        __repr__ = __str__

    def harm(kind: Any) -> Any:
        import ctypes
        import threading

        match kind:
            case "http":
                raise Http(503, body="busy")
            case "no argument":
                raise NoArg
            case "bad":
                raise Bad("x")
            case "exit 0":
                sys.exit(0)
            case "exit text":
                sys.exit("bye")
            case "exit":
                sys.exit()
            case "interrupt":
                raise KeyboardInterrupt
            case "generator exit":
                raise GeneratorExit
            case "_exit":
                os._exit(0)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "segfault":
                ctypes.string_at(0)
            case "memory":
                return len(bytearray(8 << 30))
            case "sleep":
                ctypes.CDLL(None).sleep(1000)
            case "generator":
                return [(i for i in "a")]
            case "file":
                return open("/dev/null")
            case "lock":
                return threading.Lock()
            case "lambda":
                return lambda: 0
        return kind

    raised = ["http", "no argument", "bad", "exit 0", "exit text", "exit", "interrupt", "generator exit"]
    lost = ["_exit", "kill", "segfault", "memory", "sleep"]
    unshippable = ["generator", "file", "lock"]
    kinds = ["fine", *raised, *lost, *unshippable, "lambda", "fine too"]
    began = time.monotonic()
    job = cloud.map(
        harm,
        kinds,
        tolerate=1.0,
        retries=1,
        item_timeout_s=2,
        progress=False,
        workers=1,
    )
    result = dict(zip(kinds, job.result(), strict=True))
    assert time.monotonic() - began < 60
    assert (result.pop("fine"), result.pop("fine too")) == ("fine", "fine too")
    assert result.pop("lambda")() == 0
    failures = {kind: found for kind, found in result.items() if isinstance(found, TaskFailure)}
    assert failures.keys() == result.keys()
    assert all(failures[kind].index == kinds.index(kind) for kind in failures)
    assert all(failure.item == repr(kind) for kind, failure in failures.items() if failure.item)
    told = {kind: (failure.type, failure.message) for kind, failure in failures.items()}
    assert told["http"] == ("Http", "503 busy")
    assert told["no argument"] == ("NoArg", "fixed text")
    assert told["bad"][0] == "Bad"
    assert "harm" in failures["bad"].traceback
    assert told["exit 0"] == ("SystemExit", "0")
    assert told["exit text"] == ("SystemExit", "bye")
    assert told["exit"][0] == "SystemExit"
    assert told["interrupt"][0] == "KeyboardInterrupt"
    assert told["generator exit"][0] == "GeneratorExit"
    for kind, how in (("_exit", "code 0"), ("kill", "signal 9"), ("segfault", "signal 11")):
        assert told[kind][0] == "WorkerDied"
        assert how in told[kind][1]
        assert "2 tries" in told[kind][1]
    assert told["memory"][0] == "OutOfMemory"
    assert told["sleep"][0] == "TimedOut"
    assert "item_timeout_s=2" in told["sleep"][1]
    for kind, name in (("generator", "generator"), ("file", "TextIOWrapper"), ("lock", "lock")):
        assert told[kind][0] == "PayloadError"
        assert "result not serialisable" in told[kind][1]
        assert name in told[kind][1]


def test_c09_a_flood_of_output_blocks_nothing_and_logs_stay_bounded(cloud: Cloud) -> None:
    def flood(x: int) -> int:
        print("y" * 5_000_000)
        sys.stderr.write("w\n" * 300_000)
        os.write(1, b"\xff\xfe no newline")
        return x

    job = cloud.map(flood, [1, 2], progress=False, workers=1)
    assert job.result() == [1, 2]
    for text in job.logs().values():
        assert len(text) < 100_000
        assert "bytes left out" in text
        assert text.endswith("no newline")


def test_c11_ctrl_c_cancels_nothing_says_how_to_go_on_and_the_next_job_is_not_disturbed(cloud: Cloud) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    job_id = process.stdout.readline().strip()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert f"job {job_id} was not cancelled" in errors
    assert f"bellwren.connect().job('{job_id}')" in errors
    assert f"bellwren cancel {job_id}" in errors
    job = cloud.job(job_id)
    assert not job.done()

    def sleeper(x: int) -> int:
        return x + 1

    began = time.monotonic()
    assert cloud.map(sleeper, [1], progress=False, workers=1).result() == [2]
    assert time.monotonic() - began < 20
    assert "CANCELLED" in job.cancel()


@pytest.mark.parametrize(("tolerate", "ends"), [(0.099, "FAILED"), (0.1, "SUCCEEDED")])
def test_e05_the_share_of_failures_is_counted_exactly(cloud: Cloud, tolerate: float, ends: str) -> None:
    def odd(x: int) -> int:
        assert x % 10, "bad"
        return x

    job = cloud.map(odd, range(100), tolerate=tolerate, progress=False, workers=1)
    job.wait()
    assert job.status()["status"] == ends
    assert [failure.index for failure in job.failures()] == list(range(0, 100, 10))
