"""Where a module comes from decides how it travels."""

from __future__ import annotations

import email.message
import importlib.machinery
import os
import sys
import types
from pathlib import Path

import numpy as np
import numpy.linalg
import pytest

import bellwren.payload.pack
from bellwren.payload.origins import Origin, origin, origin_of_file


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (sys, Origin.STANDARD),
        (os, Origin.STANDARD),
        (email.message, Origin.STANDARD),
        (np, Origin.INSTALLED),
        (numpy.linalg, Origin.INSTALLED),
        (bellwren.payload.pack, Origin.BELLWREN),
        (sys.modules[__name__], Origin.OWN),
        (sys.modules["__main__"], Origin.SOURCELESS),
        (types.ModuleType("made_up"), Origin.SOURCELESS),
    ],
    ids=str,
)
def test_modules_that_are_imported(module: types.ModuleType, expected: Origin) -> None:
    assert origin(module) is expected


def test_a_compiled_extension_and_a_file_that_is_gone(tmp_path: Path) -> None:
    extension = tmp_path / f"fast{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    assert origin_of_file("fast", str(extension)) is Origin.OWN_BINARY
    assert origin_of_file("gone", str(tmp_path / "gone.py")) is Origin.SOURCELESS
    assert origin_of_file("compiled", str(tmp_path / "compiled.pyc")) is Origin.SOURCELESS


def test_a_project_within_a_virtual_environments_folder_is_the_users_own(tmp_path: Path) -> None:
    project = tmp_path / "venv" / "project"
    project.mkdir(parents=True)
    (project / "mine.py").write_text("")
    installed = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "theirs.py"
    assert origin_of_file("mine", str(project / "mine.py")) is Origin.OWN
    assert origin_of_file("theirs", str(installed)) is Origin.INSTALLED


def test_a_name_with_more_dots_than_its_path_has_folders(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    deep = ".".join("abcdefghijklmnopqrstuvw")
    assert origin_of_file(deep, str(tmp_path / "x.py")) is Origin.OWN
