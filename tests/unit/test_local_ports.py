from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bellwren.local import ports
from bellwren.local.errors import LocalCloudError

PLACE = Path("/where/this/cloud/lies")


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[int]:
    """A web server on a free port that gives the same answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_first_start_takes_the_first_free_port_from_4566_on() -> None:
    assert ports.choose(None, None, PLACE, free=lambda port: port >= 4569) == 4569


def test_a_later_start_takes_the_port_of_last_time() -> None:
    assert ports.choose(None, 4600, PLACE, free=lambda _: True) == 4600


def test_the_port_asked_for_goes_before_that_of_last_time() -> None:
    assert ports.choose(5000, 4600, PLACE, free=lambda _: True) == 5000


@pytest.mark.parametrize(("asked", "remembered"), [(5000, None), (None, 5000)])
def test_a_taken_port_is_never_silently_replaced(asked: int | None, remembered: int | None) -> None:
    with pytest.raises(LocalCloudError, match=r"port 5000 is in use.*--port"):
        ports.choose(asked, remembered, PLACE, free=lambda port: port != 5000)


def test_no_free_port_at_all_says_what_was_tried() -> None:
    with pytest.raises(LocalCloudError, match="no port from 4566 to 4665 is free; name one with --port"):
        ports.choose(None, None, PLACE, free=lambda _: False)


def test_a_port_on_which_another_program_listens_is_not_free() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_another_program_on_the_port_is_called_that() -> None:
    with answering(b"<html>hello</html>") as port, pytest.raises(LocalCloudError, match="by another program"):
        ports.choose(port, None, PLACE)


def test_another_local_cloud_on_the_port_is_named_with_the_way_to_stop_it() -> None:
    other = json.dumps({"marker": "m", "pid": 7, "directory": "/my other/cloud"}).encode()
    with (
        answering(other) as port,
        pytest.raises(LocalCloudError, match=r"local cloud of /my other/cloud \(pid 7\)") as caught,
    ):
        ports.choose(port, None, PLACE)
    assert "bellwren local stop --dir '/my other/cloud'" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 200), (b"not json", 200), (b"[]", 200), (b'{"pid": 1}', 200), (b"{}", 404)]
)
def test_only_a_local_cloud_has_an_identity(body: bytes, status: int) -> None:
    with answering(body, status) as port:
        assert ports.identity(port) is None


def test_nobody_on_the_port_has_no_identity() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert ports.identity(port) is None


def test_no_proxy_is_asked_for_an_address_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ours = {"marker": "m", "pid": 7, "directory": "/x"}
    with answering(json.dumps(ours).encode()) as port:
        assert ports.identity(port) == ours


def test_a_checkpoint_that_was_not_written_is_an_error() -> None:
    with answering(b"{}", 500) as port, pytest.raises(LocalCloudError, match="did not write its state down"):
        ports.checkpoint(port)
