"""What the process that Lambda keeps asks of the system."""

from __future__ import annotations

import os
import select

import pytest

from bellwren.engine import nursery


@pytest.fixture(params=[True, False], ids=["as Python names it", "by its number"])
def named(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.delattr(os, "pidfd_open")


@pytest.mark.usefixtures("named")
def test_the_end_of_a_child_is_seen_also_by_a_python_that_was_built_with_old_headers() -> None:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(write)
        os.read(read, 1)
        os._exit(3)
    os.close(read)
    fd = nursery._pidfd(pid)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(0) == []
    os.close(write)
    assert poll.poll(60_000) == [(fd, select.POLLIN)]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    os.close(fd)
    with pytest.raises(ProcessLookupError):
        nursery._pidfd(pid)
