"""Which of the user's own modules a payload carries, found by following imports from what its pickle refers to."""

from __future__ import annotations

import importlib.machinery
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from bellwren.errors import PayloadError
from bellwren.payload import imports
from bellwren.payload.imports import Import
from bellwren.payload.origins import Origin, origin, origin_of_file, origin_of_folders
from bellwren.payload.pickler import Needs


@dataclass(frozen=True)
class Source:
    """One of the user's own modules."""

    name: str
    file: str
    """Where its text is on the client; empty for a namespace package, which has none."""
    is_package: bool
    text: bytes
    module: ModuleType | None
    """The module as the client imported it, if it did."""

    @property
    def package(self) -> str:
        """The package that relative imports within it start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass
class Collected:
    """What the code of a payload needs on the worker."""

    sources: dict[str, Source] = field(default_factory=dict)
    """The user's own modules by name."""
    installed: dict[str, str] = field(default_factory=dict)
    """Top-level names of installed packages that are certainly imported, each with who imports it."""


def collect(needs: Needs, extra: Iterable[str] = ()) -> Collected:
    """Follow every import from what a pickle needs, and from the modules named in ``extra``.

    PayloadError if a module of the user's own is a compiled extension, is no valid Python, or (``extra``) not there.
    """
    found = Collected()
    queue: deque[tuple[Import, str]] = deque()
    for name, module in needs.modules.items():
        _push(queue, Import(name, True), "the function")
        if sys.modules.get(name) is not module:
            _visit(Import(name, True), "the function", found, queue, module)
    for code, namespace in needs.code.values():
        package = str(namespace.get("__package__") or "")
        for item in imports.of_code(code, package):
            _push(queue, item, f"function {code.co_name!r}")
    for name in extra:
        if _locate(name) is None:
            raise PayloadError(
                f"module {name!r} was to be shipped and cannot be found; check its name and sys.path"
            )
        _push(queue, Import(name, True), "the option")
    while queue:
        item, importer = queue.popleft()
        _visit(item, importer, found, queue, None)
    return found


def _push(queue: deque[tuple[Import, str]], item: Import, importer: str) -> None:
    """Certain imports first, so that a module is met as certain if any way to it is."""
    (queue.appendleft if item.certain else queue.append)((item, importer))


def _visit(
    item: Import,
    importer: str,
    found: Collected,
    queue: deque[tuple[Import, str]],
    loaded: ModuleType | None,
) -> None:
    name = item.name
    top = name.partition(".")[0]
    if name in found.sources or (top in sys.stdlib_module_names and top not in sys.modules):
        return
    located = _locate(name) if loaded is None else _located(name, loaded)
    if located is None:
        return
    where, source = located
    if where is Origin.INSTALLED and item.certain:
        found.installed.setdefault(top, importer)
    if where is Origin.OWN_BINARY:
        raise PayloadError(
            f"module {name!r}, imported by {importer}, is an extension compiled for this machine ({source.file}); "
            "build it into a wheel and name it in requirements"
        )
    if where is not Origin.OWN:
        return
    found.sources[name] = source
    if "." in name:
        _push(queue, Import(name.rpartition(".")[0], item.certain), importer)
    try:
        read = imports.of_module(source.text, source.file, source.package)
    except (SyntaxError, ValueError) as error:
        raise PayloadError(f"module {name!r} ({source.file}) cannot be shipped: {error}") from error
    plugins = _whole_package(top) if read.computed else ()
    for part in (*read.imports, *(Import(plugin, False) for plugin in plugins)):
        _push(queue, part._replace(certain=part.certain and item.certain), f"module {name!r}")


def _locate(name: str) -> tuple[Origin, Source] | None:
    """Find a module by name without running anything: imported already, or where an import would find it."""
    loaded = sys.modules.get(name)
    if isinstance(loaded, ModuleType):
        return _located(name, loaded)
    search: list[str] | None = None
    spec = None
    for depth in range(1, name.count(".") + 2):
        part = ".".join(name.split(".")[:depth])
        parent = sys.modules.get(part)
        spec = getattr(parent, "__spec__", None) or _find_spec(part, search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or ())
    assert spec is not None
    if spec.origin in (None, "namespace") and search:
        return origin_of_folders(name, tuple(search)), Source(name, "", True, b"", None)
    file = spec.origin or ""
    where = origin_of_file(name, file)
    is_package = spec.submodule_search_locations is not None
    text = Path(file).read_bytes() if where is Origin.OWN else b""
    return where, Source(name, file, is_package, text, None)


def _find_spec(name: str, search: list[str] | None) -> importlib.machinery.ModuleSpec | None:
    """Ask every finder, those of editable installs too; a parent package is not imported for it."""
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, search)
        except KeyError:
            # A folder without __init__ within another one that is not imported, which the finder asks for its folders.
            spec = _folders_only(name, search or [])
        if spec is not None:
            return spec
    return None


def _folders_only(name: str, search: list[str]) -> importlib.machinery.ModuleSpec | None:
    folders = [path for one in search if (path := Path(one, name.rpartition(".")[2])).is_dir()]
    if not folders:
        return None
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder) for folder in folders]
    return spec


def _located(name: str, module: ModuleType) -> tuple[Origin, Source]:
    where = origin(module)
    is_package = hasattr(module, "__path__")
    file = getattr(module, "__file__", None) or ""
    text = _read(module, file) if where is Origin.OWN and file else b""
    return where, Source(name, file, is_package, text, module)


def _read(module: ModuleType, file: str) -> bytes:
    loader = getattr(module, "__loader__", None)
    try:
        read = getattr(loader, "get_data", None)
        return bytes(read(file)) if read is not None else Path(file).read_bytes()
    except OSError as error:
        raise PayloadError(f"the text of module {module.__name__!r} cannot be read: {error}") from error


def _whole_package(top: str) -> list[str]:
    """Names of all modules of a top-level package of the user's own."""
    located = _locate(top)
    if located is None or not located[1].is_package or not located[1].file:
        return []
    folder = Path(located[1].file).parent
    names = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if all(part.isidentifier() for part in parts):
            names.append(".".join([top, *(part for part in parts if part != "__init__")]))
    return names
