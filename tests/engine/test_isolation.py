"""Whatever an item does to its process costs that item only, and is told as what it was."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import Engine

CULPRIT = 2
ITEMS = range(5)


def exit_0() -> None:
    os._exit(0)


def exit_3() -> None:
    os._exit(3)


def segfault() -> None:
    ctypes.string_at(0)


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_my_group() -> None:
    os.killpg(0, signal.SIGKILL)


def abort() -> None:
    os.abort()


def overflow_the_stack_of_python() -> None:
    sys.setrecursionlimit(10**9)

    def deeper(depth: int) -> Any:
        return sorted([depth], key=lambda one: deeper(one + 1))

    deeper(0)


def recurse_for_ever() -> None:
    recurse_for_ever()


def overflow_the_stack_of_c() -> None:
    # qsort calls its comparison, which calls qsort: each level is a frame of C.
    libc = ctypes.CDLL(None)
    pair = (ctypes.c_int * 2)(2, 1)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    sys.setrecursionlimit(10**9)

    def again(_a: int, _b: int) -> int:
        libc.qsort(pair, 2, 4, compare(again))
        return 0

    libc.qsort(pair, 2, 4, compare(again))


def allocate_too_much_at_once() -> None:
    bytearray(64 << 30)


def allocate_too_much_in_pieces() -> None:
    held = []
    while True:
        held.append(bytearray(16 << 20))


def allocate_too_much_in_c() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    while address := libc.malloc(16 << 20):
        ctypes.memset(address, 1, 16 << 20)
    raise MemoryError


def loop_for_ever() -> None:
    while True:
        pass


def loop_for_ever_in_c() -> None:
    # The lock is held and no signal handler of Python's can run.
    ctypes.PyDLL(None).sleep(3600)


def loop_and_ignore_signals() -> None:
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    loop_for_ever()


def stop_myself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def close_everything() -> None:
    os.closerange(0, 1024)


def exit_politely() -> None:
    sys.exit(0)


def interrupt() -> None:
    raise KeyboardInterrupt


def fork_and_return_in_both() -> None:
    os.fork()


def fork_and_raise_in_the_child() -> None:
    if os.fork() == 0:
        raise RuntimeError("from the child")
    os.wait()
    raise RuntimeError("from the parent")


def reset_signals_and_die() -> None:
    faulthandler.enable()
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(5)


KILLED = "was killed by signal"
CASES: list[tuple[Callable[[], None], str, str]] = [
    (exit_0, "WorkerDied", "exited with code 0"),
    (exit_3, "WorkerDied", "exited with code 3"),
    (segfault, "WorkerDied", f"{KILLED} 11 (SIGSEGV)"),
    (kill_myself, "WorkerDied", f"{KILLED} 9 (SIGKILL)"),
    (kill_my_group, "WorkerDied", f"{KILLED} 9 (SIGKILL)"),
    (abort, "WorkerDied", f"{KILLED} 6 (SIGABRT)"),
    (overflow_the_stack_of_python, "WorkerDied", f"{KILLED} 11 (SIGSEGV)"),
    (overflow_the_stack_of_c, "WorkerDied", f"{KILLED} 11 (SIGSEGV)"),
    (recurse_for_ever, "RecursionError", "maximum recursion depth"),
    (allocate_too_much_at_once, "OutOfMemory", "raise memory_mb"),
    (allocate_too_much_in_pieces, "OutOfMemory", "raise memory_mb"),
    (allocate_too_much_in_c, "OutOfMemory", "raise memory_mb"),
    (loop_for_ever, "TimedOut", "item_timeout_s=2"),
    (loop_for_ever_in_c, "TimedOut", "item_timeout_s=2"),
    (loop_and_ignore_signals, "TimedOut", "item_timeout_s=2"),
    (stop_myself, "TimedOut", "item_timeout_s=2"),
    (close_everything, "WorkerDied", "closed the descriptors"),
    (exit_politely, "SystemExit", "0"),
    (interrupt, "KeyboardInterrupt", ""),
    (fork_and_raise_in_the_child, "RuntimeError", "from the parent"),
    (reset_signals_and_die, "WorkerDied", f"{KILLED} 14 (SIGALRM)"),
]


def all_but(culprit: Callable[[], None]) -> Callable[[int], int]:
    def item(x: int) -> int:
        if x == CULPRIT:
            culprit()
        return x * 10

    return item


@pytest.mark.parametrize(("culprit", "kind", "said"), CASES, ids=[case[0].__name__ for case in CASES])
def test_an_item_that_ends_its_process_fails_alone(
    engine: Engine, culprit: Callable[[], None], kind: str, said: str
) -> None:
    outcome = engine.map(
        all_but(culprit), ITEMS, workers=1, retries=0, tolerate=0.2, item_timeout_s=2, memory_mb=256
    )
    results = outcome.result()
    assert [results[x] for x in ITEMS if x != CULPRIT] == [0, 10, 30, 40]
    assert set(outcome.failures) == {CULPRIT}
    found, message = outcome.failures[CULPRIT]
    assert found == kind
    assert said in message
    assert outcome.lost == 0


def floods(x: int) -> int:
    print("y" * 5_000_000)
    sys.stderr.write("w\n" * 300_000)
    os.write(1, b"\xff\xfe no newline")
    return x


def closes_its_outputs(x: int) -> int:
    print("the next item's output is mended")
    for fd in (0, 1, 2):
        os.close(fd)
    return x


def plays_with_signals(x: int) -> int:
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.dump_traceback_later(0.01)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 30))
    time.sleep(0.05)
    return x


def leaves_threads(x: int) -> int:
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return x


def leaves_children(x: int) -> int:
    subprocess.Popen(["sleep", "3600"])
    return x


def leaves_daemons(x: int) -> int:
    """Double fork, sessions of their own: nobody's child any more."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "3600"])
        os._exit(0)
    os.wait()
    return x


def forks_and_returns_in_both(x: int) -> int:
    os.fork()
    return x


def leaves_a_child_that_holds_the_line(x: int) -> int:
    """Its copy of the runner's descriptors outlives the runner."""
    if x == 2:
        if os.fork() == 0:
            os.setsid()
            time.sleep(3600)
        os._exit(0)
    return x * 10


def test_a_child_that_outlives_its_runner_does_not_hide_its_death(engine: Engine) -> None:
    function = leaves_a_child_that_holds_the_line
    outcome = engine.map(function, ITEMS, workers=1, retries=0, tolerate=0.2)
    outcome.result()
    assert outcome.failures == {2: ("WorkerDied", "the runner exited with code 0")}


def ends_with_a_busy_thread(x: int) -> int:
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
    return x


@pytest.mark.parametrize(
    "function",
    [
        floods,
        closes_its_outputs,
        plays_with_signals,
        leaves_threads,
        leaves_children,
        leaves_daemons,
        forks_and_returns_in_both,
        ends_with_a_busy_thread,
    ],
)
def test_an_item_that_misbehaves_and_returns_has_its_result(
    engine: Engine, function: Callable[[int], int]
) -> None:
    """The harness checks after each invocation that no process is left."""
    outcome = engine.map(function, range(4), workers=1, retries=0)
    assert outcome.result() == [0, 1, 2, 3]
    assert outcome.lost == 0
    assert outcome.record["lost_runners"] == 0


def test_what_floods_the_output_is_cut_with_a_mark(engine: Engine) -> None:
    outcome = engine.map(floods, range(1), workers=1)
    (entry,) = engine.store.list(f"jobs/{outcome.job_id}/logs/")
    text = engine.store.get(entry.key)
    assert entry.size < 100_000
    assert b"bytes left out" in text
    assert text.endswith(b"\xff\xfe no newline")


def fills_its_folder(x: int) -> int:
    if x == CULPRIT:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open(os.path.join(tempfile.gettempdir(), "big"), "wb") as file:
            file.write(bytes(8 << 20))
    return len(os.listdir(tempfile.gettempdir()))


def test_a_folder_that_is_full_fails_its_item_with_the_systems_error(engine: Engine) -> None:
    """Stands for a full /tmp: the write fails with an error of the operating system."""
    outcome = engine.map(fills_its_folder, ITEMS, workers=1, retries=0, tolerate=0.2)
    outcome.result()
    assert outcome.failures[CULPRIT][0] == "OSError"


def state(_: int) -> dict[str, Any]:
    found = {
        "argv0": getattr(sys, "left_here", None),
        "environment": os.environ.get("LEFT_HERE"),
        "cwd_files": [name for name in os.listdir(".") if "left" in name],
        "path": [entry for entry in sys.path if "left-here" in entry],
        "open": len(os.listdir("/proc/self/fd")),
        "tmp": [name for name in os.listdir(tempfile.gettempdir()) if "left" in name],
        "umask": os.umask(0o022),
        "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "recursion": sys.getrecursionlimit(),
        "random": random.random(),
    }
    sys.left_here = True  # type: ignore[attr-defined]
    os.environ["LEFT_HERE"] = "1"
    sys.path.append("/left-here")
    Path("left.txt").write_text("left")
    (Path(tempfile.gettempdir()) / "left").write_text("left")
    open("/dev/null")  # noqa: SIM115  left open on purpose
    os.umask(0)
    sys.setrecursionlimit(5000)
    return found


def test_nothing_of_one_job_reaches_the_next_in_a_warm_environment(engine: Engine) -> None:
    first, second = (engine.map(state, range(1), workers=1).result()[0] for _ in range(2))
    assert first.pop("random") != second.pop("random")
    assert first == second
    assert first["argv0"] is None
    assert first["environment"] is None
    assert first["cwd_files"] == first["path"] == first["tmp"] == []


def needs_no_shared_memory(_: int) -> bool:
    return any("/dev/shm" in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_nothing_of_ours_lies_in_dev_shm(engine: Engine) -> None:
    assert engine.map(needs_no_shared_memory, range(2), workers=1).result() == [False, False]


def test_user_code_sees_no_descriptor_but_its_own(engine: Engine) -> None:
    def descriptors(_: int) -> list[str]:
        found = []
        for fd in os.listdir("/proc/self/fd"):
            try:
                found.append(os.readlink(f"/proc/self/fd/{fd}"))
            except FileNotFoundError:
                continue  # the listing's own
        return found

    (found,) = engine.map(descriptors, range(1), workers=1).result()
    kinds = [name.partition(":")[0] for name in found]
    assert sorted(kinds) == ["/dev/null", "pipe", "pipe", "pipe", "socket"]
