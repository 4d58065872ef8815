"""Load a job's functions into a runner: a built-in algorithm, entries of a zip, or pickled payloads."""

from __future__ import annotations

import importlib
import io
import os
import sys
import zipfile
from collections.abc import Callable
from typing import Any

from bellwren.algorithms.functions import Functions, load_builtin
from bellwren.engine.stage import Stage
from bellwren.errors import PayloadError

_loaded: list[Any] = []
"""They hold the classes that items refer to."""


def load(stage: Stage, code: dict[str, memoryview]) -> Functions:
    """The functions of a stage. ``code`` holds the objects they name by SHA-256, each verified already.

    Raises:
        PayloadError: if an entry names no module or function of the zip.
        VersionMismatch: if a payload was pickled by another Python; nothing has been unpickled then.
        BaseException: whatever the user's own import raises.
    """
    builtin = next((ref["builtin"] for ref in stage.functions.values() if "builtin" in ref), None)
    if builtin:
        return load_builtin(builtin, stage.params)
    loaded: dict[str, Any] = {}
    for role, reference in stage.functions.items():
        data = code[reference["sha256"]]
        if "entry" in reference:
            _unzip(reference["sha256"], data)
            loaded[role] = _entry(role, reference["entry"])
        else:
            loaded[role] = _unpickled(data, reference["sha256"])
    return Functions(**loaded)


def _unpickled(data: memoryview, sha256: str) -> Callable[..., Any]:
    from bellwren.payload import unpack  # noqa: PLC0415  only pickled payloads need it

    function = unpack.load(bytes(data), sha256=sha256, folder=os.getcwd())
    _loaded.append(function)
    if function.constant:
        return function.for_task()

    def call(*args: Any) -> Any:
        return function.for_task()(*args)

    return call


def _unzip(sha256: str, data: memoryview) -> None:
    folder = os.path.join(os.getcwd(), f"code-{sha256[:16]}")
    if folder not in sys.path:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(folder)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()


def _entry(role: str, entry: str) -> Any:
    module_name, _, path = entry.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise PayloadError(
            f"{role} names {entry!r}, but the code zip holds no module {module_name!r}; "
            "the module's file must lie at the top of the zip"
        ) from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            raise PayloadError(
                f"{role} names {entry!r}, but module {module_name!r} has no {path!r}"
            ) from error
    if not callable(found):
        raise PayloadError(f"{role} names {entry!r}, which is no function but a {type(found).__name__}")
    return found
