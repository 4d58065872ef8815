"""What cannot be shipped is refused before anything is uploaded, by the variable's name and with a way out: A09."""

from __future__ import annotations

import functools
import io
import logging
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from bellwren.errors import PayloadError
from bellwren.payload.pack import pack

Program = Callable[..., list[str]]

S3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
LOCK = threading.Lock()


def message(fn: Any) -> str:
    with pytest.raises(PayloadError) as caught:
        pack(fn)
    return str(caught.value)


class Holder:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def __call__(self, x: int) -> int:
        return x

    def method(self, x: int) -> int:
        return x


def holds(value: Any) -> Callable[[int], Any]:
    return lambda x: (value, x)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (S3, "closure variable 'value' of function '<lambda>' is a boto3 client: botocore.client.S3"),
        (LOCK, "closure variable 'value' of function '<lambda>' is a lock: _thread.lock"),
        (threading.RLock(), "is a lock: _thread.RLock"),
        (threading.Event(), "is a lock: threading.Event"),
        (threading.Thread(), "is a thread: threading.Thread"),
        (threading.local(), "is thread-local data: _thread._local"),
        (sqlite3.connect(":memory:"), "is a database connection: sqlite3.Connection"),
        ((i for i in range(3)), "is a generator: generator"),
        (
            boto3.Session(region_name="us-east-1").resource("sqs", region_name="us-east-1"),
            "is a boto3 resource",
        ),
        (sys._getframe(), "is a stack frame: frame"),
        (
            {"a": [1, LOCK]},
            "element 1 of key 'a' of closure variable 'value' of function '<lambda>' is a lock",
        ),
        (Holder(pool=Holder(lock=LOCK)), "attribute 'lock' of attribute 'pool' of closure variable 'value'"),
        (functools.partial(print, 1, end=LOCK), "argument 'end' of closure variable 'value'"),
        (logging.StreamHandler(), "is a logging.StreamHandler, which cannot be pickled"),
        (sys.modules["__main__"], "is the module '__main__'; pass the values"),
        (io.TextIOWrapper(io.BytesIO(b"text")), "is an open file: _io.TextIOWrapper"),
    ],
)
def test_a_captured_resource_is_refused_by_the_name_of_its_variable(value: Any, said: str) -> None:
    text = message(holds(value))
    assert said in text
    assert text.startswith("'<lambda>' (test_refusals.py:")
    assert "inside the function" in text or "pass " in text


def test_open_files_and_sockets_are_refused(tmp_path: Any) -> None:
    (tmp_path / "f").write_text("content")
    with (tmp_path / "f").open() as text, (tmp_path / "f").open("rb") as raw, socket.socket() as sock:
        assert "closure variable 'value' of function '<lambda>' is an open file" in message(holds(text))
        assert "is an open file: _io.BufferedReader" in message(holds(raw))
        assert "is a network connection: socket.socket" in message(holds(sock))
        assert "pass its path or its content" in message(holds(text))


def test_what_a_callable_object_holds_is_refused_by_its_attribute() -> None:
    assert "attribute 'lock' of Holder 'Holder' is a lock" in message(Holder(lock=LOCK))
    assert "attribute 'lock' of the object of function 'Holder.method' is a lock" in message(
        Holder(lock=LOCK).method
    )
    partial = functools.partial(max, LOCK)
    assert "argument 0 of partial 'max' is a lock" in message(partial)


def test_defaults_and_annotations_are_refused_by_their_parameter() -> None:
    def positional(x: int, y: Any = LOCK) -> Any:
        return x, y

    def keyword(x: int, *, z: Any = LOCK) -> Any:
        return x, z

    assert "the default of parameter 'y' of function 'positional' is a lock" in message(positional)
    assert "the default of parameter 'z' of function 'keyword' is a lock" in message(keyword)


def test_a_resource_in_a_function_that_is_called_is_named_in_that_function() -> None:
    def inner(x: int) -> Any:
        return holding(x)

    holding = holds(S3)
    assert "closure variable 'value' of function '<lambda>' is a boto3 client" in message(inner)


def test_globals_of_the_main_program_are_refused_by_name(program: Program) -> None:
    main = """
        import logging, threading, boto3
        from far import far_map, pack
        from bellwren.errors import PayloadError
        log=logging.getLogger(); s3=boto3.client("s3",region_name="us-east-1"); L=threading.Lock()
        print(far_map(lambda x:(log.info(x),x)[1],[1]))
        def helper(x): return L
        class Model:
            lock = L
            def run(self, x): return x
        for fn in (lambda x: (s3, x)[1], lambda x: (L, x)[1], lambda x: helper(x), Model().run):
            try:
                pack(fn)
            except PayloadError as error:
                print(error)
    """
    lines = program({"main.py": main})
    assert lines[0] == "[1]"
    assert "global 's3' of function '<lambda>' is a boto3 client: botocore.client.S3" in lines[1]
    assert "global 'L' of function '<lambda>' is a lock" in lines[2]
    assert "global 'L' of function 'helper' is a lock" in lines[3]
    assert "attribute 'lock' of its class of the object of function 'Model.run' is a lock" in lines[4]


def test_a_job_cannot_be_started_from_within_a_job() -> None:
    cloud = type("Cloud", (), {"__module__": "bellwren.cloud"})()
    text = message(lambda n: cloud.map(len, range(n)))
    assert "closure variable 'cloud' of function '<lambda>' is a Bellwren connection" in text
    assert "a job cannot be started from inside another job" in text


def test_what_is_nested_too_deeply_is_said_to_be() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in message(holds(deep))


def test_the_standard_streams_are_every_process_own() -> None:
    pack(lambda x: print(x, file=sys.stderr))
    pack(functools.partial(print, file=sys.__stdout__) if sys.stdout is sys.__stdout__ else print)
