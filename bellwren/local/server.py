"""What runs in the background: MiniStack, with five things added that a development cloud needs.

Started as ``python -m bellwren.local.server <directory> [<owner pid>]`` by :mod:`bellwren.local.serving`, with
MiniStack's settings in the environment.

- ``/_bellwren`` says whose cloud this is, so that our port can be told apart from any other program's.
- ``/_bellwren/checkpoint`` writes the state down now. MiniStack itself does so only when it is shut down; a
  cloud that was killed would come back with its objects and without its deployment.
- Bodies of large objects stay in memory for a while, because MiniStack reads a whole object from disk for
  each ranged read of it (51 ms for 1 KB of 50 MB; 1.8 ms so).
- Bodies are taken from a connection in larger steps, into memory that was used before: a large write takes half the
  CPU so.
- A Lambda process imports botocore when the function does, not before its first invocation: 0.3 s of CPU,
  which only serve to add a header to calls through botocore.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from bellwren.buffers import keep_large_blocks
from bellwren.local import processes
from bellwren.local.settings import MARKER_VARIABLE

IDENTITY_PATH = "/_bellwren"
CHECKPOINT_PATH = "/_bellwren/checkpoint"
CACHE_BYTES = 512 * 1024 * 1024
CACHED_OBJECT_MIN_BYTES = 256 * 1024
RECEIVE_BYTES = 1024 * 1024
_OWNER_POLL_S = 0.5

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
ReadBody = Callable[[str, str, dict[str, Any]], bytes]


def with_bellwren_paths(
    application: Application, identity: Mapping[str, Any], checkpoint: Callable[[], None]
) -> Application:
    """The ASGI application ``application`` plus the two paths of ours."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        path = scope.get("path")
        if scope["type"] != "http" or path not in (IDENTITY_PATH, CHECKPOINT_PATH):
            await application(scope, receive, send)
            return
        if path == CHECKPOINT_PATH:
            checkpoint()
        body = json.dumps(dict(identity)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


class BodyCache:
    """Reads object bodies through memory; the least recently read leave first.

    An entry is named by the object's ETag and size, so a rewritten object is another entry: nothing is stale.
    """

    def __init__(self, read: ReadBody, limit_bytes: int = CACHE_BYTES) -> None:
        self._read = read
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._bodies: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def __call__(self, bucket: str, key: str, record: dict[str, Any]) -> bytes:
        """The body of the object; ``record`` is what MiniStack keeps of it."""
        size, etag = record.get("size") or 0, record.get("etag")
        if not etag or not CACHED_OBJECT_MIN_BYTES <= size <= self._limit_bytes:
            return self._read(bucket, key, record)
        body = self._bodies.get((etag, size))
        if body is None:
            body = self._read(bucket, key, record)
            if len(body) == size:
                self._hold((etag, size), body)
        else:
            self._bodies.move_to_end((etag, size))
        return body

    def _hold(self, name: tuple[str, int], body: bytes) -> None:
        self._bodies[name] = body
        self._held_bytes += len(body)
        while self._held_bytes > self._limit_bytes:
            _, oldest = self._bodies.popitem(last=False)
            self._held_bytes -= len(oldest)


_EAGER = "    _ms_install_invoke_depth()\n"
_LAZY = """
def _when_imported(name, then):
    import importlib.util, sys
    class Finder:
        def find_spec(self, fullname, path=None, target=None):
            if fullname != name:
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(fullname)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module
                def exec_module(module):
                    execute(module)
                    package, _, leaf = name.rpartition(".")
                    setattr(sys.modules[package], leaf, module)
                    then()
                spec.loader.exec_module = exec_module
            return spec
    sys.meta_path.insert(0, Finder())
"""


def importing_botocore_late(worker_script: str) -> str:
    """MiniStack's Lambda process with the import of botocore put off until the function imports it.

    Raises:
        ValueError: the script is not the one that this was written for.
    """
    if worker_script.count(_EAGER) != 1:
        raise ValueError("MiniStack's Lambda process no longer has the call that is put off here")
    late = "    _when_imported('botocore.handlers', _ms_install_invoke_depth)\n"
    return _LAZY + worker_script.replace(_EAGER, late)


def _end_with(owner: int, marker: str) -> None:
    while processes.alive(owner):
        time.sleep(_OWNER_POLL_S)
    processes.kill(processes.family(marker) - {os.getpid()})
    os._exit(0)


def main() -> None:
    """Serve until killed, or until the owner has ended if one is named."""
    directory, *owner = sys.argv[1:]
    del sys.argv[1:]  # MiniStack reads them too
    marker = os.environ[MARKER_VARIABLE]
    identity = {"marker": marker, "pid": os.getpid(), "directory": directory}
    if owner:
        threading.Thread(target=_end_with, args=(int(owner[0]), marker), daemon=True).start()
    # Imported here, because MiniStack reads its settings on import and tests import the rest of this module.
    from hypercorn.asyncio import tcp_server  # noqa: PLC0415
    from ministack import app as ministack  # noqa: PLC0415
    from ministack.core import lambda_runtime, persistence  # noqa: PLC0415
    from ministack.services import s3  # noqa: PLC0415

    def checkpoint() -> None:
        persistence.save_all(ministack._build_persistence_save_dict())

    keep_large_blocks()
    tcp_server.MAX_RECV = RECEIVE_BYTES
    s3._read_body = BodyCache(s3._read_body)
    lambda_runtime._PYTHON_WORKER_SCRIPT = importing_botocore_late(lambda_runtime._PYTHON_WORKER_SCRIPT)
    ministack.app = with_bellwren_paths(ministack.app, identity, checkpoint)
    ministack.main()


if __name__ == "__main__":
    main()
