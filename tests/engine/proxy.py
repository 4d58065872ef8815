"""Faults between the engine and its storage: a small HTTP proxy that does what a script says, request by request.

Every step of a worker is a request that it makes, so a fault at a request is a fault at a step: production code has no
hook for tests. Each worker environment gets a door (a port) of its own, and so a script can tell workers apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

Action = Literal["kill", "delay", "refuse", "tear", "lose", "late-kill"]
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


@dataclass(frozen=True)
class Request:
    """One request of a worker, as the script sees it."""

    door: int
    method: str
    path: str
    conditional: bool
    """Whether it writes only under a condition (If-None-Match or If-Match)."""


@dataclass
class Fault:
    """What to do with some requests.

    ``kill`` ends the environment before its request arrives, ``late-kill`` after it was carried out and before the
    answer; ``delay`` holds it back; ``refuse`` answers ``status`` and does nothing; ``tear`` cuts the body of the
    answer off; ``lose`` carries the request out and drops the connection without an answer.
    """

    action: Action
    path: str = ""
    """Regular expression that the path must contain."""
    method: str = ""
    door: int | None = None
    skip: int = 0
    """How many matching requests pass before the first that is disturbed."""
    times: int = 1
    """How many are disturbed; -1 for all."""
    status: int = 503
    seconds: float = 0.0
    hits: int = 0
    """How many were."""
    seen: int = 0

    def strikes(self, request: Request) -> bool:
        if self.method not in ("", request.method) or self.door not in (None, request.door):
            return False
        if not re.search(self.path, request.path) or self.times in (self.hits, 0):
            return False
        self.seen += 1
        if self.seen <= self.skip:
            return False
        self.hits += 1
        return True


@dataclass
class Script:
    """The faults of one run, and every request that was seen."""

    faults: list[Fault] = field(default_factory=list)
    seen: list[Request] = field(default_factory=list)

    def count(self, method: str, path: str) -> int:
        return sum(one.method == method and bool(re.search(path, one.path)) for one in self.seen)

    def strike(self, request: Request) -> Fault | None:
        self.seen.append(request)
        return next((fault for fault in self.faults if fault.strikes(request)), None)


class Proxy:
    """Forwards requests to a server, disturbed by the script that is in force."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.script = Script()
        self.kill: Callable[[int], None] = lambda door: None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._doors = 0

    @contextlib.contextmanager
    def disturbed_by(self, *faults: Fault) -> Iterator[Script]:
        self.script = Script(list(faults))
        try:
            yield self.script
        finally:
            self.script = Script()

    def open_door(self) -> tuple[int, int]:
        """A new door: its number and its port."""
        door = self._doors
        self._doors += 1
        return door, self._on_loop(self._serve(door))

    def close(self) -> None:
        self._on_loop(self._end_connections())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_connections(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _on_loop(self, coroutine: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result()

    async def _serve(self, door: int) -> int:
        server = await asyncio.start_server(
            lambda reader, writer: self._connection(door, reader, writer), "127.0.0.1", 0, limit=1 << 20
        )
        return int(server.sockets[0].getsockname()[1])

    async def _connection(
        self, door: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            upstream = await asyncio.open_connection("127.0.0.1", self._target, limit=1 << 20)
            while await self._one(door, reader, writer, *upstream):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            if upstream:
                upstream[1].close()

    async def _one(
        self,
        door: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> bool:
        head, body, method, path = await request(reader)
        conditional = bool(re.search(rb"\r\nif-(none-)?match:", head, re.IGNORECASE))
        fault = self.script.strike(Request(door, method, path, conditional))
        if fault and fault.action == "kill":
            self.kill(door)
            return False
        if fault and fault.action == "delay":
            await asyncio.sleep(fault.seconds)
        if fault and fault.action == "refuse":
            writer.write(_answer(fault.status, method))
            await writer.drain()
            return True
        answer, payload = await answered(method, head + body, server, to_server)
        if fault and fault.action == "late-kill":
            self.kill(door)
            return False
        if fault and fault.action == "lose":
            return False
        if fault and fault.action == "tear":
            writer.write(answer + payload[: len(payload) // 2])
            await writer.drain()
            return False
        writer.write(answer + payload)
        await writer.drain()
        return True


async def request(reader: asyncio.StreamReader) -> tuple[bytes, bytes, str, str]:
    """The next one: its head, its body, its method and its path with the query."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    return head, await _body(head, reader), method, path


async def answered(
    method: str, whole: bytes, server: asyncio.StreamReader, to_server: asyncio.StreamWriter
) -> tuple[bytes, bytes]:
    """What the server says to a request: the head and the body."""
    to_server.write(whole)
    await to_server.drain()
    answer = await server.readuntil(b"\r\n\r\n")
    return answer, b"" if method == "HEAD" else await _body(answer, server)


def _answer(status: int, method: str) -> bytes:
    body = b"" if method == "HEAD" else _SLOW_DOWN
    head = (
        f"HTTP/1.1 {status} Slow Down\r\ncontent-type: application/xml\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    if re.search(rb"\r\ntransfer-encoding: *chunked", head, re.IGNORECASE):
        pieces = []
        while True:
            line = await reader.readuntil(b"\r\n")
            piece = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
            pieces += [line, piece]
            if piece == b"\r\n":
                return b"".join(pieces)
    found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return await reader.readexactly(int(found[1])) if found else b""
