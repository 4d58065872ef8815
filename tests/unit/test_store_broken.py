"""Conditional writes that are not decided, by a broken connection or a conflict: made again."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import obstore
import pytest
from obstore.exceptions import BaseError

from bellwren import store
from bellwren.store import Store

seen: list[bytes] = []
_RESET = b""
_DONE = b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
_CONFLICT = b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_THERE = b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Store]]:
    """A store whose requests get these answers in turn, each on a connection that then ends."""
    seen.clear()
    monkeypatch.setattr(store, "_BROKEN_S", (0.01, 0.01, 0.01))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(answers: list[bytes]) -> None:
            for answer in answers:
                with server.accept()[0] as connection:
                    request = b""
                    while not request.endswith(b"\r\n\r\nbody"):
                        request += connection.recv(65536)
                    seen.append(request)
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


def test_one_that_met_another_request_for_the_key_is_made_again(answering: Callable[..., Store]) -> None:
    """Nobody may have written the object: whoever was first may have deleted it, or have given up."""
    assert answering(_CONFLICT, _CONFLICT, _DONE).create("key", b"body")
    assert not answering(_CONFLICT, _THERE).create("key", b"body")
    assert not answering(*[_CONFLICT] * 4).create("key", b"body"), "then as if the object were there"


@pytest.mark.parametrize(
    ("region", "host"),
    [("cn-north-1", "s3.cn-north-1.amazonaws.com.cn"), ("eu-west-1", "s3.eu-west-1.amazonaws.com")],
)
def test_s3_is_found_in_china_too(region: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    keys = {"access_key_id": "a", "secret_access_key": "b"}
    by_option = Store("bucket", region=region, **keys)
    monkeypatch.setenv("AWS_REGION", region)
    for one in (by_option, Store("bucket", **keys)):
        signed = obstore.sign(one._s3, "GET", "key", timedelta(seconds=1))
        assert signed.startswith(f"https://{host}/bucket/key?")


def test_what_tls_keeps_whole_is_not_hashed_for_the_signature_too(answering: Callable[..., Store]) -> None:
    assert answering(_DONE).create("key", b"body")
    assert b"\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n" in seen[0]
