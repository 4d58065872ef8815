"""Packages and environment variables that a job brings for its own functions."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from tests import wheels
from tests.e2e import jobs

ONE = {"progress": False, "workers": 1}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheels.greeting(folder)
    wheels.use_only(folder, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_required_packages_are_there_when_user_code_loads_and_are_unpacked_once(
    cloud: Cloud, index: Path
) -> None:
    def greet(x: str) -> Any:
        import os

        import greeting  # type: ignore[import-not-found]

        return greeting.greet(x), greeting.__file__, os.stat(greeting.__file__).st_ctime_ns

    first = cloud.map(greet, ["you", "me"], requirements=["greeting>=1"], **ONE).result()
    assert [text for text, *_ in first] == ["Hello you", "Hello me"]
    second = cloud.map(greet, ["you"], requirements=["greeting>=1"], **ONE).result()
    assert second == first[:1]
    with pytest.raises(bellwren.TaskError, match="requirements="):
        cloud.map(greet, ["you"], **ONE).result()


def test_requirements_that_cannot_be_had_start_nothing(cloud: Cloud, index: Path) -> None:
    before = len(cloud.jobs())
    with pytest.raises(bellwren.PayloadError, match=r"'nowhere-to-be-found'.*nothing was submitted"):
        cloud.map(abs, [1], requirements=["nowhere-to-be-found"])
    with pytest.raises(bellwren.SpecError, match=r"requirements\[0\].*options of pip"):
        cloud.map(abs, [1], requirements=["--extra-index-url=x"])
    with pytest.raises(bellwren.SpecError, match=r"requirements.*a list"):
        cloud.map(abs, [1], requirements="greeting")
    assert len(cloud.jobs()) == before


def test_a_document_gets_its_bundle_from_the_client_and_is_refused_without_one(
    deployment: Any, cloud: Cloud, index: Path
) -> None:
    code = jobs.upload_code(cloud, mine="import greeting\n\ndef greet(x):\n    return greeting.greet(x)\n")
    document = {
        "bellwren": 1,
        "kind": "map",
        "code": code,
        "map": "mine:greet",
        "items": ["you"],
        "requirements": ["greeting"],
    }
    assert cloud.submit(document, progress=False).result() == ["Hello you"]
    name = f"bare-{uuid.uuid4().hex[:8]}"
    jobs.start(deployment, {"spec": document}, name)
    (fault,) = jobs.ended(cloud, name)["error"]["faults"]
    assert fault["field"] == "requirements"
    assert "bellwren submit" in fault["allowed"]


def test_variables_reach_the_functions_of_their_job_and_of_no_other(cloud: Cloud) -> None:
    def look(_: int) -> Any:
        import os

        return os.environ.get("BW_TEST_WORD"), os.environ.get("LD_TEST")

    assert cloud.map(look, [1], env={"BW_TEST_WORD": "a=b ✓\n"}, **ONE).result() == [("a=b ✓\n", None)]
    assert cloud.map(look, [1], **ONE).result() == [(None, None)]
    with pytest.raises(bellwren.SpecError, match=r"env.BELLWREN_JOBS_BUCKET"):
        cloud.map(look, [1], env={"BELLWREN_JOBS_BUCKET": "x"})
