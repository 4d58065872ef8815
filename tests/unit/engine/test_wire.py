"""Frames between supervisor and runner arrive whole, or not at all."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from bellwren.engine import wire
from bellwren.engine.wire import Kind

LARGE = bytes(range(256)) * 20_000
"""Many times what a socket holds."""


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The supervisor's end, and the runner's."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("parts", [(), (b"",), (b"a", memoryview(b"bc")), (LARGE, b"", LARGE)])
def test_a_frame_comes_back_as_it_was_sent(
    line: tuple[socket.socket, socket.socket], parts: tuple[bytes, ...]
) -> None:
    ours, theirs = line

    def echo() -> None:
        kind, head, body = wire.receive(theirs)
        wire.send(theirs, kind, head, body[:1], body[1:])

    async def there_and_back() -> tuple[Kind, dict[str, object], memoryview]:
        await wire.write(ours, Kind.TASK, {"a": [1, "\u00e9"]}, *parts)
        return await wire.read(ours)

    runner = threading.Thread(target=echo)
    runner.start()
    kind, head, body = asyncio.run(there_and_back())
    runner.join()
    assert (kind, head) == (Kind.TASK, {"a": [1, "\u00e9"]})
    assert bytes(body) == b"".join(parts)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x0d\x00",
        b"\x0d" + (100).to_bytes(8, "big") + b"half",
        b"\xff" + (4).to_bytes(8, "big") + bytes(4),
        b"\x0d" + (1).to_bytes(8, "big") + b"x",
        b"printed by user code to the wrong descriptor",
    ],
    ids=["nothing", "no length", "half", "no such kind", "too short", "text"],
)
def test_what_is_no_whole_frame_is_the_end_of_the_line(
    line: tuple[socket.socket, socket.socket], sent: bytes
) -> None:
    ours, theirs = line
    theirs.sendall(sent)
    theirs.close()
    with pytest.raises(wire.Closed):
        asyncio.run(wire.read(ours))


def test_a_frame_for_which_there_is_no_memory_ends_the_line_and_not_the_worker(
    line: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(size: int) -> memoryview:
        if size > 1 << 20:
            raise MemoryError
        return memoryview(bytearray(size))

    ours, theirs = line
    monkeypatch.setattr(wire, "buffer", small)
    theirs.sendall(b"\x0d" + (9 << 30).to_bytes(8, "big"))
    with pytest.raises(wire.Closed):
        asyncio.run(wire.read(ours))


def test_a_line_that_is_shut_down_ends_who_waits_on_it(line: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = line

    async def waiting() -> list[BaseException | object]:
        both = asyncio.gather(wire.read(ours), wire.write(ours, Kind.TASK, {}, LARGE), return_exceptions=True)
        await asyncio.sleep(0.01)
        ours.shutdown(socket.SHUT_RDWR)
        return await both

    read, written = asyncio.run(waiting())
    assert isinstance(read, wire.Closed)
    assert isinstance(written, ConnectionError)
