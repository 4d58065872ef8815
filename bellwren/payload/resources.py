"""Things that cannot leave the process they were made in, and what to do instead: one table."""

from __future__ import annotations

import sys
from typing import Any

_INSIDE = "make it inside the function"
_PATH = "open it inside the function, or pass its path or its content"
_DATA = "pass the data it yields, e.g. as a list"
_NESTED = "a job cannot be started from inside another job: return the items of the next job instead"

TABLE: dict[tuple[str, str], tuple[str, str]] = {
    ("_io", "TextIOWrapper"): ("an open file", _PATH),
    ("_io", "BufferedReader"): ("an open file", _PATH),
    ("_io", "BufferedWriter"): ("an open file", _PATH),
    ("_io", "BufferedRandom"): ("an open file", _PATH),
    ("_io", "FileIO"): ("an open file", _PATH),
    ("tempfile", "_TemporaryFileWrapper"): ("an open file", "pass its content"),
    ("mmap", "mmap"): ("a memory-mapped file", "pass its content"),
    ("_thread", "lock"): ("a lock", f"{_INSIDE}; tasks share no memory, so it would guard nothing"),
    ("_thread", "RLock"): ("a lock", f"{_INSIDE}; tasks share no memory, so it would guard nothing"),
    ("threading", "Condition"): ("a lock", f"{_INSIDE}; tasks share no memory, so it would guard nothing"),
    ("threading", "Event"): ("a lock", f"{_INSIDE}; tasks share no memory, so it would tell nobody"),
    ("threading", "Semaphore"): ("a lock", f"{_INSIDE}; tasks share no memory, so it would guard nothing"),
    ("threading", "Thread"): ("a thread", _INSIDE),
    ("_thread", "_local"): ("thread-local data", _INSIDE),
    ("_socket", "socket"): ("a network connection", _INSIDE),
    ("_ssl", "_SSLContext"): ("a TLS context", _INSIDE),
    ("sqlite3", "Connection"): ("a database connection", _INSIDE),
    ("subprocess", "Popen"): ("a running process", _INSIDE),
    ("multiprocessing.process", "BaseProcess"): ("a running process", _INSIDE),
    ("concurrent.futures._base", "Executor"): ("an executor", _INSIDE),
    ("botocore.client", "BaseClient"): ("a boto3 client", _INSIDE),
    ("botocore.session", "Session"): ("a boto3 session", _INSIDE),
    ("boto3.session", "Session"): ("a boto3 session", _INSIDE),
    ("boto3.resources.base", "ServiceResource"): ("a boto3 resource", _INSIDE),
    ("builtins", "generator"): ("a generator", _DATA),
    ("builtins", "async_generator"): ("an async generator", _DATA),
    ("builtins", "coroutine"): ("a coroutine", "pass the async function itself, it is run to its end"),
    ("builtins", "frame"): ("a stack frame", "pass what you need of it"),
    ("builtins", "traceback"): ("a traceback", "pass its text (traceback.format_exc())"),
    ("bellwren.cloud", "Cloud"): ("a Bellwren connection", _NESTED),
    ("bellwren.job", "Job"): ("a Bellwren job", f"{_NESTED}; to use its results, give the job as the items"),
    ("bellwren.executor", "Executor"): ("a Bellwren executor", _NESTED),
}
"""(module, class) of an object or of one of its bases: what it is, what to do."""


_COPIED = (("_io", "TextIOWrapper"), ("bellwren.cloud", "Cloud"), ("bellwren.job", "Job"))


def is_refused(value: Any) -> bool:
    """Whether pickling must not even be tried: it would quietly make something else of the value.

    cloudpickle ships the content of an open text file; a connection to the cloud would start jobs from within jobs.
    The rest of the table cannot be pickled anyway.
    """
    kind = type(value)
    named = any((base.__module__, base.__qualname__) in _COPIED for base in kind.__mro__)
    return named and not (value is sys.stdout or value is sys.stderr)


def explain(kind: type) -> tuple[str, str] | None:
    """What objects of this type are and what to do instead, if they cannot be shipped."""
    for base in kind.__mro__:
        found = TABLE.get((base.__module__, base.__qualname__))
        if found is not None:
            return found
    return None


def type_name(value: Any) -> str:
    """Module and name of a value's type, builtins without the module."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
