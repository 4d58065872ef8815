"""A process in which the functions that steer a job run with the packages of their bundle and no other.

What they import only when they need it is missed there as on Lambda, whatever this environment has.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_REQUIREMENTS = ROOT / "infra" / "requirements" / "control.txt"
_OURS = ("bellwren", "functions", "tests")
_LAMBDAS = ("boto3",)
"""What Lambda's Python brings along."""


@contextmanager
def control_process() -> Iterator[Callable[..., Any]]:
    """``call("module:function", *arguments)`` runs a function there; what it raised is an AssertionError here."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine.control_process"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout

        def call(entry: str, *arguments: Any, **named: Any) -> Any:
            pickle.dump((entry, arguments, named), asked)
            asked.flush()
            answer, error = pickle.load(answers)
            assert error is None, error
            return answer

        yield call
        asked.close()


class _NoOther(importlib.abc.MetaPathFinder):
    def __init__(self, allowed: set[str]) -> None:
        self._allowed = allowed

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        top = name.partition(".")[0]
        # Private ones are Python's own, such as those with how it was built.
        if top not in self._allowed and top not in sys.stdlib_module_names and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {top!r} in the bundle", name=top)


def _modules(requirements: list[str]) -> set[str]:
    """Top-level modules of distributions and of all that they need."""
    of: dict[str, set[str]] = {}
    for module, distributions in importlib.metadata.packages_distributions().items():
        for distribution in distributions:
            of.setdefault(_normalised(distribution), set()).add(module)
    found: set[str] = set()
    waiting = list(map(_normalised, requirements))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in of:
            continue
        seen.add(name)
        found |= of[name]
        needed = importlib.metadata.requires(name) or []
        waiting += [_normalised(one) for one in needed if "extra ==" not in one]
    return found


def _normalised(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    wanted = [line for line in _REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    sys.meta_path.insert(0, _NoOther({*_OURS, *_modules([*wanted, *_LAMBDAS])}))
    while True:
        try:
            entry, arguments, named = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            module, _, name = entry.partition(":")
            answer = getattr(importlib.import_module(module), name)(*arguments, **named), None
        except Exception:  # noqa: BLE001  it is shown where it was called
            answer = None, traceback.format_exc()
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _main()
