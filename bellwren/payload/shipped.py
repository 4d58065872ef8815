"""Worker side: makes the user's own modules importable from the sources that a payload carries."""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

from bellwren.payload.envelope import ShippedModule


class ShippedFinder:
    """Finds shipped modules by their full names, before anything else of those names."""

    def __init__(self, modules: Sequence[ShippedModule], folder: str) -> None:
        self._modules = {module.name: module for module in modules}
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system."""
        module = self._modules.get(fullname)
        if module is None:
            return None
        place = _place(self._folder, module)
        if not module.file:  # a namespace package: one that the worker has too goes on to have its own parts
            spec = PathFinder.find_spec(fullname, path) or ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [*(spec.submodule_search_locations or ()), place]
            return spec
        loader = ShippedLoader(module, place)
        search = [os.path.dirname(place)] if module.is_package else None
        return spec_from_file_location(fullname, place, loader=loader, submodule_search_locations=search)


class ShippedLoader(SourceFileLoader):
    """Loads one shipped module, then sets in it what the client had set."""

    def __init__(self, module: ShippedModule, place: str) -> None:
        super().__init__(module.name, place)
        self.shipped = module
        """What it loads; a second payload of the job that carries the same finds it loaded."""

    def get_code(self, fullname: str) -> CodeType:
        """The compiled module; its tracebacks name the file as it is called on the client."""
        code: CodeType = compile(self.shipped.text, self.shipped.file, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        super().exec_module(module)
        if self.shipped.changed:
            vars(module).update(pickle.loads(self.shipped.changed))  # noqa: S301 - the user's own


def install(modules: Sequence[ShippedModule], folder: str) -> ShippedFinder | None:
    """Make the modules importable; their files are written below ``folder``, once for all that share it."""
    if not modules:
        return None
    for module in modules:
        if module.file:
            _write(_place(folder, module), module.text)
        loader = getattr(sys.modules.get(module.name), "__loader__", None)
        if not isinstance(loader, ShippedLoader) or loader.shipped != module:
            sys.modules.pop(module.name, None)  # the worker's own module of that name is not the user's
    finder = ShippedFinder(modules, folder)
    sys.meta_path.insert(0, finder)
    return finder


def _place(folder: str, module: ShippedModule) -> str:
    """Where the module's file lies; a name that is no identifier (loaded by its path) stays within the folder."""
    parts = [re.sub(r"[^\w\-]", "_", part) or "_" for part in module.name.split(".")]
    if not module.file:
        return os.path.join(folder, *parts)
    return (
        os.path.join(folder, *parts, "__init__.py")
        if module.is_package
        else os.path.join(folder, *parts) + ".py"
    )


def _write(place: str, text: bytes) -> None:
    if os.path.exists(place):  # another runner of this payload wrote it, whole
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    part = f"{place}.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(text)
    os.replace(part, place)
