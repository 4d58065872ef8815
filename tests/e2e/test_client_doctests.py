"""The examples in the public docstrings run, on a real deployment, and give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from tests.conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = ("cloud", "forecast", "job", "executor", "cli.values")


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(cloud: Cloud, name: str) -> None:
    module = importlib.import_module(f"bellwren.{name}")
    names = {"cloud": cloud, "bellwren": bellwren}
    result = doctest.testmod(module, extraglobs=names, optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_first_lines_of_the_readme_run(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = (ROOT / "README.md").read_text("utf-8").split("```python\n")[1].partition("```")[0]
    monkeypatch.setattr(bellwren, "connect", lambda where: cloud)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(lines, "README.md", "exec"), names)
    assert names["job"].result()[:3] == [0, 1, 4]
    assert names["job"].id in (tmp_path / "report.html").read_text("utf-8")
