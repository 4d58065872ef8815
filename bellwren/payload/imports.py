"""What a piece of code imports, read from its text or its byte code; nothing is run to find out."""

from __future__ import annotations

import ast
import dis
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from keyword import iskeyword
from types import CodeType
from typing import Any, NamedTuple

_BY_NAME = {"import_module", "__import__", "find_spec", "get_data", "files"}
"""Calls that import, or look into, a module whose name is in a variable or a text."""
_LISTING = {"iter_modules", "walk_packages", "import_module", "__import__"}


class Import(NamedTuple):
    """One import statement, or one name of a ``from`` statement."""

    name: str
    """Absolute name of the module."""
    certain: bool
    """Whether it runs whenever the code does: not guarded by try, if, or a function that may not be called."""
    maybe: bool = False
    """``from a import b`` may mean the module a.b, or something within a; so may a text that names a module."""


class ModuleImports(NamedTuple):
    """What the text of a module says."""

    imports: tuple[Import, ...]
    computed: bool
    """Whether it imports modules by names that are not written down (plugins), so any of its package may be needed."""


@lru_cache(maxsize=1024)
def of_module(text: bytes, file: str, package: str) -> ModuleImports:
    """Imports of a module's text; SyntaxError if it is no Python of this version."""
    tree = ast.parse(text, file)
    found: list[Import] = []
    _walk(tree.body, package, True, found)
    nodes = list(ast.walk(tree))
    if _BY_NAME & set(map(_name, nodes)):
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        found.extend(Import(str(text), False, True) for text in texts if _is_module_name(text))
    written = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _names_a_module(node)}
    computed = any(_name(node) in _LISTING and id(node) not in written for node in nodes)
    return ModuleImports(tuple(found), computed)


def of_code(code: CodeType, package: str) -> Iterator[Import]:
    """Imports within a function's byte code and in the functions that it defines."""
    guarded = [(entry.start, entry.end) for entry in getattr(dis.Bytecode(code), "exception_entries", ())]
    before: list[Any] = [0, None]
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            level, names = before[-2], before[-1]
            certain = not any(start <= instruction.offset < end for start, end in guarded)
            yield from _from(instruction.argval, level or 0, names or (), package, certain)
        elif instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            before = [before[-1], instruction.argval]
    if _BY_NAME & set(code.co_names):
        yield from (Import(text, False, True) for text in code.co_consts if _is_module_name(text))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from of_code(constant, package)


def _walk(body: list[ast.stmt], package: str, certain: bool, found: list[Import]) -> None:
    for node in body:
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, certain) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.extend(_from(node.module or "", node.level, names, package, certain))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            _walk(node.orelse, package, certain, found)
        else:
            runs = certain and isinstance(node, (ast.With, ast.ClassDef))
            inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
            _walk([part for child in inner for part in _statements(child)], package, runs, found)


def _statements(node: ast.AST) -> list[ast.stmt]:
    """The node if it is a statement, else those within it (the branches of ``except`` and ``match``)."""
    if isinstance(node, ast.stmt):
        return [node]
    return [part for child in ast.iter_child_nodes(node) for part in _statements(child)]


def _name(node: ast.AST) -> str:
    """The name or attribute that a node reads; empty for any other node."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names_a_module(call: ast.Call) -> bool:
    """Whether the call's first argument is the whole name of a module, written there."""
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and _is_module_name(first.value)


def _from(name: str, level: int, names: tuple[str, ...], package: str, certain: bool) -> Iterator[Import]:
    if level:
        try:
            name = importlib.util.resolve_name("." * level + name, package)
        except ImportError:  # fails in the same way, and with a better place, when it runs
            return
    yield Import(name, certain)
    yield from (Import(f"{name}.{part}", certain, True) for part in names if part != "*")


def _is_module_name(text: object) -> bool:
    if not isinstance(text, str) or not 0 < len(text) < 200:
        return False
    return all(part.isidentifier() and not iskeyword(part) for part in text.split("."))
