"""What the client changed in its own modules since they were imported, so that workers see the same.

A worker imports a shipped module from its source. Values that the source computes are computed again there, for the
worker's place and environment; what the client *set* must come along:

- a name that the source binds to a literal (``K = 5``) and that has another value now; not so a container that
  the source goes on to fill;
- a name that the source does not bind at all (``helper.NEW = 1``);
- a function or class that was replaced (a monkeypatch);
- a name imported from another shipped module in which that name has another value now.

What cannot be pickled (a client or a lock that was made lazily) starts afresh, as the source says.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

from bellwren.payload.origins import Origin, origin
from bellwren.payload.pickler import Needs, define, dumps
from bellwren.payload.sources import Source

_OPAQUE = object()
"""Bound by something that cannot be compared: computed when the module is imported."""
_DEFINED = object()
"""Bound by a plain ``def`` or ``class``."""


class _Imported(NamedTuple):
    """Bound by ``from module import name``."""

    module: str
    name: str


_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def changed(source: Source, needs: Needs) -> bytes:
    """A pickle of ``{name: value}`` of what was changed in a shipped module; empty if nothing was."""
    if source.module is None or not source.text:
        return b""
    bound, star = _written(source.text, source.file, source.package)
    values: dict[str, Any] = {}
    for name, value in list(vars(source.module).items()):
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        if _is_changed(bound[name], value, source.module) if name in bound else not star:
            picked = Needs()
            try:
                dumps(value, needs=picked, reduce_class=define)
            except Exception:  # noqa: BLE001, S112 - anything a value's own pickling raises: it starts afresh
                continue
            needs.update(picked)
            values[name] = value
    return dumps(values, needs=Needs(), reduce_class=define) if values else b""


@lru_cache(maxsize=256)
def _written(text: bytes, file: str, package: str) -> tuple[dict[str, Any], bool]:
    """What the text of a module binds its names to, and whether it imports names that are not written in it."""
    body = ast.parse(text, file).body
    bound = dict(_bindings(body, package))
    bound |= {name: _OPAQUE for name in _filled(body) if isinstance(bound.get(name), (dict, list, set))}
    return bound, any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in body)


def _is_changed(binding: Any, value: Any, module: ModuleType) -> bool:
    if binding is _DEFINED:
        return getattr(value, "__module__", module.__name__) != module.__name__
    if isinstance(binding, _Imported):
        there = sys.modules.get(binding.module)
        if there is None or origin(there) is not Origin.OWN:
            return False
        return not _same(vars(there).get(binding.name, value), value)
    if binding is _OPAQUE or _same(binding, value):
        return False
    # A container that the module fills itself, with functions or objects of its own, is filled again on the worker.
    return type(value) is not type(binding) or _is_plain(value)


def _bindings(body: list[ast.stmt], package: str) -> Iterator[tuple[str, Any]]:
    """Names bound at the top of a module, each with the literal it is bound to; later ones win."""
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, _literal(node.value)
                else:
                    yield from _names(target)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, _OPAQUE if node.decorator_list else _DEFINED
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ((part.asname or part.name, _Imported(module, part.name)) for part in node.names)
        else:
            yield from _names(node)


def _filled(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the top of a module does something with beyond binding and plain reading."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain = all(isinstance(target, ast.Name) for target in targets)
            if plain and not any(isinstance(part, ast.Call) for part in ast.walk(node)):
                continue
        yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _names(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Names that a statement binds in any other way."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            yield part.id, _OPAQUE
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield part.name, _OPAQUE
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name.partition(".")[0]), _OPAQUE
        elif isinstance(part, ast.ExceptHandler) and part.name:
            yield part.name, _OPAQUE


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _OPAQUE


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - an array, or any other that has no single answer
        return False


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(part) for key, part in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN) or (type(value).__module__.partition(".")[0] in _DATA)


_DATA = {"numpy", "pandas", "datetime", "decimal", "fractions", "pathlib", "uuid"}
