"""The process that Lambda keeps: it forks, waits and cleans, and does nothing else.

User code runs in *runners*, forked for each invocation; all storage traffic is the *supervisor's*, forked too. This
process stays single-threaded, starts no event loop and makes no request, so a fork from it is always safe and a child
inherits nothing of an earlier job. As the parent of all it learns exactly how each one ended, and as a subreaper it
inherits, and ends, whatever user code left behind.

    Lambda runtime ─ nursery ─┬─ supervisor   (asyncio, obstore)
                              ├─ runner 0     (user code)
                              └─ runner 1 …
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from bellwren.engine.scratch import own_folder

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SYS_PIDFD_OPEN = 434
"""The same on every processor: numbers from 424 on are."""
_MESSAGE_BYTES = 1 << 20
_AT = struct.Struct("<qd")
_PAUSE = struct.Struct("<q")
_SLOT_BYTES = _AT.size + _PAUSE.size
_SLOTS = 64


class WorkerLost(RuntimeError):
    """The supervisor died. Raised out of the handler, so that Step Functions retries the worker."""


class Progress:
    """A page shared by all processes of one invocation: which position each runner is at, since when, and whether it
    is to pause before the next.

    It is an anonymous shared mapping and so needs no ``/dev/shm``, which Lambda lacks. It survives a runner's death:
    that is how the supervisor knows which item killed it.
    """

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, _SLOT_BYTES * _SLOTS)

    def set(self, slot: int, position: int, since: float) -> None:
        """Note that the runner in ``slot`` starts on ``position`` at ``since`` (monotonic seconds)."""
        _AT.pack_into(self._page, slot * _SLOT_BYTES, position, since)

    def get(self, slot: int) -> tuple[int, float]:
        """Position and start of what the runner in ``slot`` is at; ``(-1, 0.0)`` between tasks."""
        position, since = _AT.unpack_from(self._page, slot * _SLOT_BYTES)
        return position, since

    def ask_pause(self, slot: int, asked: bool = True) -> None:
        """Ask the runner in ``slot`` to stop before its next position, or take that back."""
        _PAUSE.pack_into(self._page, slot * _SLOT_BYTES + _AT.size, asked)

    def pause_asked(self, slot: int) -> bool:
        """Whether the runner in ``slot`` is to stop before its next position."""
        return self._page[slot * _SLOT_BYTES + _AT.size] != 0


Supervise = Callable[[socket.socket, Progress, str], None]
Run = Callable[[socket.socket, Progress, int, int], None]


class Nursery:
    """One invocation's processes."""

    def __init__(self, supervise: Supervise, run: Run, told: Mapping[str, Any] | None = None) -> None:
        """``supervise(control, progress, folder)`` and ``run(socket, progress, slot, log_fd)`` are the children's
        whole lives. ``told`` is what a line in the function's log says beside the error of one: its job, above all."""
        self._told = dict(told or {})
        self._supervise = supervise
        self._run = run
        self._progress = Progress()
        self._folder = ""
        self._children: dict[int, int] = {}
        self._result: dict[str, Any] | None = None

    def invoke(self) -> dict[str, Any]:
        """Run one invocation to its end and return what the supervisor answered.

        Raises:
            WorkerLost: if the supervisor ended without an answer.
        """
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        with own_folder() as self._folder:
            control, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                supervisor = self._fork(
                    lambda: self._supervise(remote, self._progress, self._folder), keep=remote
                )
                remote.close()
                status = self._serve(control, supervisor)
            finally:
                control.close()
                self._end_everything()
        if self._result is None:
            raise WorkerLost(f"the supervisor {describe_exit(status)} before it answered")
        if "lost" in self._result:
            raise WorkerLost(self._result["lost"])
        return self._result

    def _serve(self, control: socket.socket, supervisor: int) -> int:
        """Fork runners on request and tell of deaths, until the supervisor is gone; return its wait status."""
        poll = select.poll()
        poll.register(control, select.POLLIN)
        self._watch(poll, supervisor)
        while True:
            for fd, _ in poll.poll():
                if fd == control.fileno():
                    message = b""
                    # A supervisor that exits with a notice of ours unread resets the line.
                    with contextlib.suppress(ConnectionResetError):
                        message = control.recv(_MESSAGE_BYTES)
                    if message:
                        self._obey(json.loads(message), control, poll)
                    else:
                        poll.unregister(control)
                    continue
                pid = self._pid_of(fd)
                _, status = os.waitpid(pid, 0)
                poll.unregister(fd)
                os.close(self._children.pop(pid))
                if pid == supervisor:
                    self._drain(control)
                    return status
                with contextlib.suppress(OSError):
                    control.send(json.dumps({"exited": pid, "status": status}).encode())

    def _obey(self, message: dict[str, Any], control: socket.socket, poll: select.poll) -> None:
        if "result" in message:
            self._result = message["result"]
            return
        slot = message["spawn"]
        ours, theirs = socket.socketpair()
        read_log, write_log = os.pipe()
        folder = os.path.join(self._folder, f"{slot}-{len(os.listdir(self._folder))}")
        os.mkdir(folder)

        def live() -> None:
            become_runner(folder, write_log, message.get("memory_bytes"))
            self._run(theirs, self._progress, slot, write_log)

        self._progress.set(slot, -1, 0.0)
        pid = self._fork(live, keep=theirs, keep_fd=write_log)
        theirs.close()
        os.close(write_log)
        self._watch(poll, pid)
        reply = json.dumps({"spawned": pid, "slot": slot, "folder": folder}).encode()
        socket.send_fds(control, [reply], [ours.fileno(), read_log])
        ours.close()
        os.close(read_log)

    def _fork(self, live: Callable[[], None], keep: socket.socket, keep_fd: int = -1) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.setsid()
            # The runtime's own protocol may use descriptor 1, and no child may write to it.
            os.dup2(2, 1)
            close_all_but({0, 1, 2, keep.fileno(), keep_fd})
            live()
            code = 0
        except BaseException:  # noqa: BLE001  a child never returns into its parent's stack
            if keep_fd < 0:
                line = {**self._told, "trace": traceback.format_exc()}
                os.write(2, (json.dumps(line) + "\n").encode())
            else:
                traceback.print_exc()  # a runner's goes where its user's prints go
        finally:
            os._exit(code)

    def _watch(self, poll: select.poll, pid: int) -> None:
        self._children[pid] = _pidfd(pid)
        poll.register(self._children[pid], select.POLLIN)

    def _pid_of(self, fd: int) -> int:
        return next(pid for pid, pidfd in self._children.items() if pidfd == fd)

    def _drain(self, control: socket.socket) -> None:
        control.setblocking(False)
        with contextlib.suppress(OSError):
            while message := control.recv(_MESSAGE_BYTES):
                self._result = json.loads(message).get("result", self._result)

    def _end_everything(self) -> None:
        """Kill and reap every descendant, also those that user code had forked and lost."""
        for pid, pidfd in self._children.items():
            _kill(pid)
            os.close(pidfd)
        self._children.clear()
        while True:
            for pid in _own_children():
                _kill(pid)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def become_runner(folder: str, log_fd: int, memory_bytes: int | None) -> None:
    """Give a fresh runner its own descriptors, folder, signals and memory limit.

    ``log_fd`` stays open beside 1 and 2, so that they can be mended when an item has closed them.
    """
    import resource  # noqa: PLC0415  only in the child

    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(null)
    _speak_through_descriptors()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


_RUNTIMES_STREAMS: list[object] = []


def _speak_through_descriptors() -> None:
    """Give Python streams of its own: what the runtime had there may buffer, or lead elsewhere."""
    # A stream that is dropped closes its descriptor, whoever uses the number by then.
    _RUNTIMES_STREAMS.extend(
        (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__)
    )
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="replace", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = open(  # noqa: SIM115  open for the process's life
            fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def close_all_but(keep: set[int]) -> None:
    """Close every inherited descriptor that is not in ``keep``."""
    start = 0
    for fd in [*sorted(fd for fd in keep if fd >= 0), os.sysconf("SC_OPEN_MAX")]:
        # An empty range must not be asked for: CPython turns closerange(0, 0) into "close everything".
        if start < fd:
            os.closerange(start, fd)
        start = fd + 1


def describe_exit(status: int) -> str:
    """A wait status in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        known = signal.Signals.__members__.values()
        name = next((f" ({one.name})" for one in known if one == number), "")  # real-time signals have none
        return f"was killed by signal {number}{name}"
    return f"exited with code {os.WEXITSTATUS(status)}"


def _own_children() -> list[int]:
    me = os.getpid()
    children = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The command may hold spaces and parentheses, so the fields count from the last one.
                fields = file.read().rpartition(b")")[2].split()
                if int(fields[1]) == me and fields[0] != b"Z":
                    children.append(int(name))
    return children


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _pidfd(pid: int) -> int:
    """A descriptor that is readable once the child has ended.

    By its number where Python has no name for the call: that depends on the headers that it was built with. Lambda's
    Python 3.11 comes with Amazon Linux 2, whose headers are of a kernel without it; the kernel that runs there has it.
    """
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.syscall(_SYS_PIDFD_OPEN, pid, 0))
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"pidfd_open: {os.strerror(ctypes.get_errno())}")
    return fd


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
