"""Where a module comes from, which decides how it reaches a worker.

The standard library and installed packages are imported on the worker. The user's own modules are shipped as
source, and what has no source (``__main__``, notebooks, modules made at run time) is shipped by value.
"""

from __future__ import annotations

import sys
import sysconfig
from enum import Enum
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType


class Origin(Enum):
    """The kinds of module."""

    STANDARD = "standard library"
    INSTALLED = "installed"
    BELLWREN = "bellwren"
    OWN = "own source"
    OWN_BINARY = "own compiled extension"
    SOURCELESS = "no source"


def origin(module: ModuleType) -> Origin:
    """Where an imported module comes from."""
    name = getattr(module, "__name__", "")
    if name == "__main__":
        return Origin.SOURCELESS
    spec = getattr(module, "__spec__", None)
    file = getattr(module, "__file__", None) or getattr(spec, "origin", None)
    paths = getattr(module, "__path__", None)
    if isinstance(file, str):
        return origin_of_file(name, file)
    if paths is not None and not isinstance(paths, str):  # a namespace package: folders and no file
        return origin_of_folders(name, tuple(str(path) for path in paths))
    return Origin.STANDARD if name.partition(".")[0] in sys.stdlib_module_names else Origin.SOURCELESS


@lru_cache(maxsize=4096)
def origin_of_file(name: str, file: str) -> Origin:
    """Where the module ``name`` that was found in ``file`` comes from."""
    top = name.partition(".")[0]
    path = Path(file).absolute()
    if top == "bellwren":
        return Origin.BELLWREN
    if file in ("built-in", "frozen") or name in sys.builtin_module_names or _is_standard(path):
        return Origin.STANDARD
    depth = name.count(".") + (path.stem == "__init__")
    if _in_site_packages(path) or _in_target_folder(top, path.parents[min(depth, len(path.parents) - 1)]):
        return Origin.INSTALLED
    if file.endswith(tuple(EXTENSION_SUFFIXES)):
        return Origin.OWN_BINARY
    readable = file.endswith((".py", ".pyw")) and (path.is_file() or _is_zipped(path))
    return Origin.OWN if readable else Origin.SOURCELESS


def origin_of_folders(name: str, folders: tuple[str, ...]) -> Origin:
    """Where a namespace package comes from: the user's own as soon as one of its folders is."""
    if all(_in_site_packages(Path(folder).absolute()) for folder in folders):
        return Origin.BELLWREN if name.partition(".")[0] == "bellwren" else Origin.INSTALLED
    return Origin.OWN


def _in_site_packages(path: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _is_standard(path: Path) -> bool:
    return not _in_site_packages(path) and any(path.is_relative_to(folder) for folder in _standard_folders())


@lru_cache(maxsize=1)
def _standard_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple({Path(paths[key]).absolute() for key in ("stdlib", "platstdlib")})


@lru_cache(maxsize=256)
def _in_target_folder(top: str, folder: Path) -> bool:
    """Whether pip installed the package into a folder of its own (``pip install --target``, a Lambda layer).

    An editable install is no such thing: its metadata lies in site-packages and its source is the user's.
    """
    for record in folder.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        if any(line.startswith((f"{top}/", f"{top}.py,")) for line in lines):
            return True
    return False


def _is_zipped(path: Path) -> bool:
    return any(parent.is_file() for parent in path.parents)
