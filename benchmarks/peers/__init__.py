"""Systems that Bellwren is measured against, each in an environment of its own below ``.build/peers``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent / ".build" / "peers"


def environment(name: str, *requirements: str) -> Path:
    """The Python of a virtual environment that has ``requirements``, made when it is first asked for.

    Raises:
        subprocess.CalledProcessError: if pip can't install them; what it says is on standard error.
    """
    folder = _ROOT / name
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    wanted = "\n".join(requirements)
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements], check=True)
        ready.write_text(wanted)
    return python


def run(python: Path, script: str, *arguments: str, timeout_s: float = 600.0, tries: int = 3) -> str:
    """What a script of this folder prints in the peer's environment, with a home folder of the peer's own.

    A peer that fails is tried again, and that it failed is told: workers of Lithops write the module of a function over
    each other, so that one of them may read half of it.

    Raises:
        RuntimeError: if it fails every time, with the end of what it says on standard error.
    """
    home = python.parent.parent / "home"
    home.mkdir(exist_ok=True)
    for attempt in range(1, tries + 1):
        done = subprocess.run(
            [str(python), str(Path(__file__).parent / script), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=home,
            env={**os.environ, "HOME": str(home)},
        )
        if not done.returncode:
            return done.stdout
        said = f"{script} ended with {done.returncode}: {done.stderr[-1000:]}"
        print(f"try {attempt} of {tries}: {said}", file=sys.stderr)
    raise RuntimeError(said)
