from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.local.server import BodyCache, importing_botocore_late, with_bellwren_paths


def ask(path: str, *, scope_type: str = "http") -> tuple[list[dict[str, Any]], list[str]]:
    """What is sent for a request, and what was called."""
    called: list[str] = []
    sent: list[dict[str, Any]] = []

    async def emulator(scope: Any, receive: Any, send: Any) -> None:
        called.append(f"emulator {scope['type']}")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    identity = {"marker": "m", "pid": 7, "directory": "/x"}
    served = with_bellwren_paths(emulator, identity, lambda: called.append("checkpoint"))
    asyncio.run(served({"type": scope_type, "path": path}, receive, send))
    return sent, called


def test_the_identity_says_whose_cloud_it_is() -> None:
    sent, called = ask("/_bellwren")
    assert sent[0]["status"] == 200
    assert json.loads(sent[1]["body"]) == {"marker": "m", "pid": 7, "directory": "/x"}
    assert called == []


def test_a_checkpoint_answers_after_the_state_is_written() -> None:
    sent, called = ask("/_bellwren/checkpoint")
    assert called == ["checkpoint"]
    assert sent[0]["status"] == 200


@pytest.mark.parametrize("path", ["/", "/_bellwrenx", "/bucket/_bellwren", "/_ministack/health"])
def test_every_other_request_is_the_emulators(path: str) -> None:
    assert ask(path) == ([], ["emulator http"])


def test_the_lifespan_is_the_emulators() -> None:
    assert ask("/_bellwren", scope_type="lifespan") == ([], ["emulator lifespan"])


class Disk:
    """Bodies by key, counting the reads."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.reads = 0

    def __call__(self, bucket: str, key: str, record: dict[str, Any]) -> bytes:
        self.reads += 1
        return self.bodies[key]

    def put(self, key: str, body: bytes) -> dict[str, Any]:
        self.bodies[key] = body
        return {"etag": f'"{hash(body)}"', "size": len(body)}


LARGE = 300 * 1024


def test_many_reads_of_a_large_object_are_one_read_of_the_disk() -> None:
    disk = Disk()
    cache = BodyCache(disk)
    record = disk.put("a", b"x" * LARGE)
    assert {cache("bucket", "a", record) for _ in range(5)} == {b"x" * LARGE}
    assert disk.reads == 1


def test_an_overwritten_object_is_read_anew() -> None:
    disk = Disk()
    cache = BodyCache(disk)
    cache("bucket", "a", disk.put("a", b"x" * LARGE))
    assert cache("bucket", "a", disk.put("a", b"y" * LARGE)) == b"y" * LARGE


def test_a_small_object_and_one_without_an_etag_are_not_kept() -> None:
    disk = Disk()
    cache = BodyCache(disk)
    small = disk.put("small", b"x")
    nameless = {**disk.put("nameless", b"x" * LARGE), "etag": None}
    for _ in range(2):
        cache("bucket", "small", small)
        cache("bucket", "nameless", nameless)
    assert disk.reads == 4


def test_a_body_that_does_not_have_the_recorded_size_is_not_kept() -> None:
    disk = Disk()
    cache = BodyCache(disk)
    record = disk.put("a", b"x" * LARGE)
    disk.bodies["a"] = b""  # as when the file cannot be read
    cache("bucket", "a", record)
    disk.bodies["a"] = b"x" * LARGE
    assert cache("bucket", "a", record) == b"x" * LARGE


@given(st.lists(st.integers(0, 5), max_size=40))
def test_the_kept_bodies_never_exceed_the_limit(reads: list[int]) -> None:
    disk = Disk()
    records = {n: disk.put(str(n), bytes([n]) * (LARGE + n)) for n in range(6)}
    cache = BodyCache(disk, limit_bytes=3 * LARGE)
    for n in reads:
        assert cache("bucket", str(n), records[n]) == disk.bodies[str(n)]
        held = sum(map(len, cache._bodies.values()))
        assert held == cache._held_bytes <= 3 * LARGE


WORKER_SCRIPT = """
def _ms_install_invoke_depth():
    import botocore.handlers
    botocore.handlers.BUILTIN_HANDLERS.append(("before-call", print))

def run():
    import sys
    _ms_install_invoke_depth()
    if "botocore" in sys.modules:
        return "early"
    import botocore.session
    return len([h for h in botocore.handlers.BUILTIN_HANDLERS if h == ("before-call", print)])

print(run())
"""


def test_a_function_process_imports_botocore_only_with_the_function_and_still_adds_the_header() -> None:
    script = importing_botocore_late(WORKER_SCRIPT)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "1\n"


def test_the_script_of_the_installed_emulator_is_the_one_that_is_changed() -> None:
    code = (
        "from ministack.core.lambda_runtime import _PYTHON_WORKER_SCRIPT as script\n"
        "from bellwren.local.server import importing_botocore_late\n"
        "compile(importing_botocore_late(script), 'worker', 'exec')\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_an_emulator_whose_script_is_another_is_refused() -> None:
    with pytest.raises(ValueError, match="no longer has the call"):
        importing_botocore_late("def run(): pass")
