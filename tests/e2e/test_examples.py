"""The examples run as their readers run them, and print what they say at their top."""

from __future__ import annotations

import doctest
import itertools
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Deployment

EXAMPLES = ROOT / "examples"
OTHERS = {"__init__.py", "generated_text.py", "demo.py", "learning_demo.py"}
"""What ``make demo`` runs, which has tests of its own parts."""
SCRIPTS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh"))
SCRIPTS = [name for name in SCRIPTS if name not in OTHERS]
AT_ONCE = 3

Runs = dict[str, Future["subprocess.CompletedProcess[str]"]]


@pytest.fixture(scope="module")
def runs(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """All of them, a few at a time: each is mostly waiting."""
    # The reader has an `aws`; the one of this environment does not start below a folder with a space in its name.
    programs = tmp_path_factory.mktemp("programs")
    (programs / "aws").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m awscli "$@"\n')
    (programs / "aws").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **deployment.cloud.environment(), "PATH": path}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        shell = name.endswith(".sh")
        command = ["sh", f"examples/{name}"] if shell else [sys.executable, "-m", f"examples.{name[:-3]}"]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=240, env=environment, cwd=ROOT, check=False
        )

    with ThreadPoolExecutor(AT_ONCE) as threads:
        yield {name: threads.submit(run, name) for name in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_prints_what_it_says(runs: Runs, name: str) -> None:
    done = runs[name].result()
    expected = promised((EXAMPLES / name).read_text())
    assert done.returncode == 0, done.stderr
    assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), (
        f"{name} says that it prints\n{expected}\nand prints\n{done.stdout}"
    )


def test_the_list_of_examples_has_them_all() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert [name for name in SCRIPTS if f"]({name})" not in listed] == []


def promised(source: str) -> str:
    """The lines below the command at the top of an example, to the end of its comment or docstring."""
    lines = (line.removeprefix("#").removeprefix("     ") for line in source.splitlines())
    assert any(line.startswith("$ ") for line in lines), "it does not say how to run it"
    shown = list(itertools.takewhile(lambda line: line not in ('"""', "set -eu"), lines))
    assert shown, "it does not say what it prints"
    return "\n".join(shown) + "\n"
