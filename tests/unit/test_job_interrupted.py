"""Ctrl-C ends the waiting and not the job, and says how to get back to it, however one waits."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import job as job_module
from bellwren import layout
from bellwren.job import Job

WAYS: list[Callable[[Job], Any]] = [Job.wait, Job.result, lambda job: list(job.iter_results()), Job.failures]


@pytest.mark.parametrize("wait", WAYS, ids=["wait", "result", "iter_results", "failures"])
def test_ctrl_c_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wait: Callable[[Job], Any]
) -> None:
    documents = {layout.status("books-1"): {"status": "RUNNING"}}
    store: Any = SimpleNamespace(find_json=documents.get)
    cloud: Any = SimpleNamespace(jobs_store=store, store=None, connect="bellwren.connect()")

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job_module.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wait(Job(cloud, "books-1", progress=False))
    said = capsys.readouterr().err
    assert said.count("job books-1 was not cancelled") == 1
    assert "bellwren.connect().job('books-1')" in said
    assert "bellwren cancel books-1" in said
