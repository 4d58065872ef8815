"""Conditional writes whose connection breaks: made again, since the library leaves them at that."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from obstore.exceptions import BaseError

from bellwren import store
from bellwren.store import Store

_RESET = b""
_DONE = b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
_THERE = b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Store]]:
    """A store whose requests get these answers in turn, each on a connection that then ends."""
    monkeypatch.setattr(store, "_BROKEN_S", (0.01, 0.01, 0.01))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(answers: list[bytes]) -> None:
            for answer in answers:
                with server.accept()[0] as connection:
                    request = b""
                    while not request.endswith(b"\r\n\r\nbody"):
                        request += connection.recv(65536)
                    if answer == _RESET:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.sendall(answer)

        def make(*answers: bytes) -> Store:
            threading.Thread(target=serve, args=(list(answers),), daemon=True).start()
            endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
            return Store(
                "bucket", endpoint=endpoint, region="us-east-1", access_key_id="a", secret_access_key="b"
            )

        yield make


def test_a_conditional_write_whose_connection_is_reset_is_made_again(answering: Callable[..., Store]) -> None:
    written = answering(_RESET, _RESET, _DONE)
    assert written.create("key", b"body")
    assert written.requests["put"] == 3, "each try is paid for"


def test_one_that_was_carried_out_meets_its_own_object(answering: Callable[..., Store]) -> None:
    assert not answering(_RESET, _THERE).create("key", b"body")
    assert answering(_RESET, _DONE).replace("key", b"body", '"old"')
    assert answering(_RESET, _THERE).swap("key", b"body", '"old"') is None


def test_it_is_not_made_again_for_ever(answering: Callable[..., Store]) -> None:
    with pytest.raises(BaseError, match="Interrupted"):
        answering(*[_RESET] * 4).create("key", b"body")
