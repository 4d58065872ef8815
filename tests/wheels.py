"""Wheels made on the spot, and an index that is a folder: tests of requirements download nothing."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: dict[str, str],
    *,
    tag: str = "py3-none-any",
    requires: str = "",
) -> None:
    """A wheel as build tools make them."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    contents = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},,\n" for path in contents)
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for path, text in contents.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")


def use_only(folder: Path, environment: pytest.MonkeyPatch) -> None:
    """Make a folder of wheels all that pip knows."""
    environment.setenv("PIP_NO_INDEX", "1")
    environment.setenv("PIP_FIND_LINKS", str(folder))
    environment.setenv("PIP_CONFIG_FILE", os.devnull)


def greeting(folder: Path) -> None:
    """Package ``greeting`` 1.2, which needs ``words``, of which there are two releases."""
    files = {"greeting/__init__.py": "from words import HELLO\n\n\ndef greet(x):\n    return HELLO + x\n"}
    make_wheel(folder, "greeting", "1.2", files, requires="words>=1")
    make_wheel(folder, "words", "1.0", {"words.py": "HELLO = 'hello '\n"})
    make_wheel(folder, "words", "1.1", {"words.py": "HELLO = 'Hello '\n"})
