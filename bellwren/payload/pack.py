"""Makes the payload of a function: everything that a worker needs to call it, in bytes, as it is at this moment."""

from __future__ import annotations

import functools
import hashlib
import linecache
import os
import pickle
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import cloudpickle

from bellwren.errors import PayloadError
from bellwren.payload import culprit
from bellwren.payload.distributions import check_packages
from bellwren.payload.edited import warn_if_edited
from bellwren.payload.envelope import ShippedModule, seal
from bellwren.payload.origins import Origin, origin
from bellwren.payload.pickler import Needs, Packer, define, shown_filename
from bellwren.payload.sources import Collected, collect
from bellwren.payload.state import changed

_LINES_LIMIT = 5000
"""Most source lines that a payload carries for tracebacks."""
_BUFFER_BYTES = 1 << 16
"""Arrays from this size on lie beside the pickle, so that they are copied once and not twice."""


@dataclass(frozen=True)
class Payload:
    """A function, ready to be stored under its SHA-256; equal functions make equal payloads."""

    data: bytes
    sha256: str
    python: str
    """Minor version that the worker must have, e.g. ``3.11``."""
    cloudpickle: str
    """Version that the worker must have, up to its patch level, e.g. ``3.1.3``."""
    name: str
    """What the function is called: for job names and labels."""
    modules: tuple[str, ...]
    """The user's own modules that travel along."""
    packages: tuple[str, ...]
    """Top-level names of installed packages that the worker must have."""

    def reference(self, key: str) -> dict[str, str]:
        """How a plan refers to the payload that was stored under ``key``."""
        return {
            "payload": key,
            "sha256": self.sha256,
            "python": self.python,
            "cloudpickle": self.cloudpickle,
        }


def pack(
    fn: Callable[..., Any],
    *,
    needs: Needs | None = None,
    modules: Iterable[str] = (),
    worker_packages: Collection[str] | None = None,
) -> Payload:
    """Pack any callable as it is now; what happens to its variables later does not reach the workers.

    Functions of ``__main__`` and notebooks, lambdas, closures and everything that they refer to travel by value. The
    user's own modules (neither in the standard library nor an installed distribution; editable installs are the
    user's own) travel as source, with what the client changed in them (`bellwren.payload.state`). Installed packages
    are imported on the worker.

    Args:
        fn: the callable.
        needs: what the items of the job refer to (`items.Items.needs`).
        modules: further modules of the user's own to ship, for those imported by a computed name.
        worker_packages: distribution or import names of what workers have beyond the standard library, `bellwren`
            and cloudpickle; None if it is not known, and then nothing is checked.

    Raises:
        PayloadError: naming the variable that cannot be shipped, or the package that workers do not have, and the
            way out.
    """
    name = describe(fn)
    if not callable(fn):
        raise PayloadError(
            f"a function was expected, found {name}, a {type(fn).__name__}, which cannot be called"
        )
    wanted = Needs()
    wanted.update(needs or Needs())
    pieces, buffers = _pickled(fn, name, wanted)
    _add_own_code(fn, wanted)
    found = collect(wanted, modules)
    shipped = _shipped(found, wanted, modules)
    if worker_packages is not None:
        check_packages(found.installed, worker_packages)
    made_by = {"python": python_minor(), "cloudpickle": cloudpickle.__version__, "name": name}
    data = seal({**made_by, "lines": _lines(wanted)}, pieces, buffers, shipped)
    return Payload(
        data,
        hashlib.sha256(data).hexdigest(),
        **made_by,
        modules=tuple(module.name for module in shipped),
        packages=tuple(sorted(found.installed)),
    )


def describe(fn: object) -> str:
    """What a callable is called; its type's name where it has none of its own (a partial, a callable object)."""
    if isinstance(fn, functools.partial):
        return describe(fn.func)
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    if not isinstance(name, str):
        name = type(fn).__qualname__
    return name.rpartition("<locals>.")[2]


def python_minor() -> str:
    """The minor version of this interpreter, e.g. ``3.11``."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


class _Pieces(list[bytes]):
    """A file that keeps what is written without copying it."""

    def write(self, data: bytes) -> int:
        self.append(bytes(data))
        return len(data)


def _pickled(fn: Any, name: str, needs: Needs) -> tuple[_Pieces, list[memoryview]]:
    """The pickle of the function and of the classes that items need, and its large buffers, not copied."""
    pieces = _Pieces()
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous: pickle copies it into its stream
            return True
        if raw.nbytes < _BUFFER_BYTES:
            return True
        buffers.append(raw)
        return False

    packer = Packer(pieces, needs=needs, reduce_class=define, buffer_callback=keep)
    try:
        packer.dump((fn, tuple(needs.classes)))
    except Exception as error:  # whatever an object's own pickling raises
        kind = "function" if isinstance(fn, (FunctionType, MethodType)) else type(fn).__name__
        reason = culprit.explain(fn, f"{kind} {name!r}", error, reduce_class=define)
        raise PayloadError(f"{name!r}{_line(fn)} cannot be shipped to the workers: {reason}") from error
    return pieces, buffers


def _line(fn: Any) -> str:
    """Where a function is written, to tell one lambda from another."""
    code = getattr(fn, "__code__", None)
    return (
        f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if isinstance(code, CodeType) else ""
    )


def _add_own_code(fn: Any, needs: Needs) -> None:
    """The function itself is certainly run, so what it imports is needed even where it travels as source."""
    while isinstance(fn, (functools.partial, MethodType)):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    module = needs.modules.get(getattr(fn, "__module__", None) or "")
    if isinstance(fn, FunctionType) and module is not None and origin(module) is Origin.OWN:
        needs.code[id(fn.__code__)] = fn.__code__, fn.__globals__


def _shipped(found: Collected, needs: Needs, extra: Iterable[str]) -> list[ShippedModule]:
    """The sources with what was changed in them; a changed value may need further modules."""
    overlays: dict[str, bytes] = {}
    while missing := found.sources.keys() - overlays.keys():
        for name in sorted(missing):
            warn_if_edited(found.sources[name])
            overlays[name] = changed(found.sources[name], needs)
        if any(overlays[name] for name in missing):
            found.sources.update(collect(needs, extra).sources)
    return [
        ShippedModule(name, source.file, source.is_package, source.text, overlays[name])
        for name, source in sorted(found.sources.items())
    ]


def _lines(needs: Needs) -> dict[str, list[tuple[int, list[str]]]]:
    """The lines of the functions that travel by value, so that remote tracebacks show them."""
    lines: dict[str, list[tuple[int, list[str]]]] = {}
    left = _LINES_LIMIT
    for code, _ in needs.code.values():
        first, last = _extent(code)
        text = linecache.getlines(code.co_filename)[first - 1 : last]
        if not text or len(text) > left:
            continue
        left -= len(text)
        piece = (first, text)
        shown = lines.setdefault(shown_filename(code.co_filename), [])
        if piece not in shown:
            shown.append(piece)
    return {file: sorted(pieces) for file, pieces in lines.items()}


def _extent(code: CodeType) -> tuple[int, int]:
    numbers = [line for _, _, line in code.co_lines() if line]
    inner = [_extent(part)[1] for part in code.co_consts if isinstance(part, CodeType)]
    return code.co_firstlineno, max([code.co_firstlineno, *numbers, *inner])
