"""A user's folder with a program in it, run as its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture
def program(tmp_path: Path) -> Callable[[Mapping[str, str]], list[str]]:
    """Write the files into a folder, run its ``main.py`` there, and give the lines that it prints."""

    def run(files: Mapping[str, str], **environment: str) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "main.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1", **environment},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run
