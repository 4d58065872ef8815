"""The pickler of functions, items and results: cloudpickle, and what users need beyond it.

Over cloudpickle it ships the user's own modules by name (their source travels beside the pickle), keeps the identity
of classes, handles cached functions and properties, keeps file names and lines for remote tracebacks, makes
equal bytes for equal functions, and notes what the pickle needs on the other side.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import random
import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from cloudpickle import cloudpickle as _cp

from bellwren.errors import PayloadError
from bellwren.payload import classes, resources
from bellwren.payload.codecs import PROTOCOL
from bellwren.payload.origins import Origin, origin

_RANDOM: Any = random._inst
_CONSTANTS, _FILENAME = 7, 10  # places among the arguments of a code object, Python 3.11 and later


@dataclass
class Needs:
    """What pickles refer to and do not hold: it must be there when they are loaded."""

    modules: dict[str, ModuleType] = field(default_factory=dict)
    """Modules by name, of any origin."""
    classes: dict[type, None] = field(default_factory=dict)
    """Classes that items refer to by identity: the payload must define them."""
    code: dict[int, tuple[CodeType, dict[str, Any]]] = field(default_factory=dict)
    """Code that travels by value, by its id, with its globals: it may import more when it runs."""

    def update(self, other: Needs) -> None:
        """Add the needs of another pickle."""
        self.modules.update(other.modules)
        self.classes.update(other.classes)
        self.code.update(other.code)


class Refused(PayloadError):
    """Met something that must not be shipped, though it could be pickled."""


class Packer(_cp.Pickler):  # type: ignore[misc]
    """Pickles objects into a file, one or many; each memoises on its own (call `clear_memo` in between)."""

    def __init__(
        self,
        file: Any,
        *,
        needs: Needs,
        reduce_class: Callable[[type, Needs], tuple[Any, ...]],
        buffer_callback: Callable[[pickle.PickleBuffer], object] | None = None,
    ) -> None:
        super().__init__(file, protocol=PROTOCOL, buffer_callback=buffer_callback)
        self._needs = needs
        self._reduce_class = reduce_class
        self._seen: set[type] = set()
        self._named: dict[int, Any] = {}
        """Objects that travel by name, by their ids: items meet the same few again and again."""

    def reducer_override(self, obj: Any) -> Any:
        """Called by pickle for every object that is no plain value; NotImplemented leaves it to pickle."""
        if id(obj) in self._named:
            return NotImplemented
        kind = type(obj)
        if kind is FunctionType:
            return self._function(obj)
        special = _REDUCERS.get(kind) or (Packer._generator if kind.__name__ == "RandomState" else None)
        if special is not None:
            return special(self, obj)
        if issubclass(kind, type):
            return self._class(obj)
        if kind not in self._seen:
            if resources.is_refused(obj):
                raise Refused(resources.type_name(obj))
            self._seen.add(kind)
            self._note(kind.__module__)
        return NotImplemented

    def by_name(self, obj: Any, name: str | None = None) -> bool:
        """Whether the other side can import the object by its name; notes the module if so."""
        found = _cp._lookup_module_and_qualname(obj, name=name)
        if found is None or origin(found[0]) is Origin.SOURCELESS:
            return False
        self._needs.modules[getattr(obj, "__module__", None) or found[0].__name__] = found[0]
        self._named[id(obj)] = obj
        return True

    def _class(self, cls: type) -> Any:
        if cls in _cp._BUILTIN_TYPE_NAMES or cls in (type(None), type(Ellipsis), type(NotImplemented)):
            return _cp._class_reduce(cls)
        return NotImplemented if self.by_name(cls) else self._reduce_class(cls, self._needs)

    def _function(self, function: FunctionType) -> Any:
        if self.by_name(function):
            return NotImplemented
        self._needs.code[id(function.__code__)] = function.__code__, function.__globals__
        make, arguments, (state, slots), *rest = self._dynamic_function_reduce(function)
        own = home(function)
        if own is not None and slots["__globals__"]:
            self._needs.modules[own.__name__] = own
            arguments = (arguments[0], _Globals(own.__name__), *arguments[2:])
            slots["__globals__"] = {}
        return (make, arguments, (state, slots), *rest)

    def _module(self, module: ModuleType) -> Any:
        if module.__name__ == "__main__":
            raise Refused("the module __main__")
        where = origin(module)
        registered = sys.modules.get(module.__name__) is module
        if where is Origin.SOURCELESS or (not registered and module.__name__ in sys.modules):
            state = {name: value for name, value in vars(module).items() if name not in _IMPORT_STATE}
            return _cp.dynamic_subimport, (module.__name__, state)
        self._needs.modules[module.__name__] = module
        return _cp.subimport, (module.__name__,)

    def _method(self, method: MethodType | BuiltinFunctionType) -> Any:
        """A function of the module `random` is a method, bound to a generator that must not travel with its state."""
        if method.__self__ is _RANDOM:
            return getattr, (random, method.__name__)
        return NotImplemented

    def _generator(self, generator: Any) -> Any:
        """The one that all functions of `random`, or of ``numpy.random``, share is the worker's there, seeded."""
        module: Any = random if generator is _RANDOM else sys.modules.get("numpy.random.mtrand")
        name = "_inst" if generator is _RANDOM else "_rand"
        return (getattr, (module, name)) if getattr(module, name, None) is generator else NotImplemented

    def _builtin(self, function: BuiltinFunctionType) -> Any:
        if (reduced := self._method(function)) is not NotImplemented:
            return reduced
        self._note(function.__module__)
        if function.__module__ is not None:  # else it is a method, bound to an object that need not be kept
            self._named[id(function)] = function
        return NotImplemented

    def _note(self, name: str | None) -> None:
        """Note the module of a C function or of an object's type: NumPy's functions are pickled by their names."""
        module = sys.modules.get(name or "")
        if module is not None and origin(module) is not Origin.SOURCELESS:
            self._needs.modules[module.__name__] = module

    def _code(self, code: CodeType) -> Any:
        make, arguments = _cp._code_reduce(code)
        arguments = list(arguments)
        arguments[_CONSTANTS] = tuple(map(_ordered, code.co_consts))
        arguments[_FILENAME] = shown_filename(code.co_filename)
        return make, tuple(arguments)

    def _cached_function(self, cached: Any) -> Any:
        if self.by_name(cached):
            return NotImplemented
        extra = {k: v for k, v in vars(cached).items() if k not in ("__wrapped__", "cache_parameters")}
        return make_cached_function, (cached.__wrapped__, cached.cache_parameters(), extra)


_IMPORT_STATE = {"__builtins__", "__spec__", "__loader__", "__cached__"}


def shown_filename(name: str) -> str:
    """The file name of a code object as remote tracebacks show it, the same in every run of a notebook."""
    folder, base = os.path.split(name)
    return f"<notebook cell {base}>" if os.path.basename(folder).startswith("ipykernel_") else "".join(name)


def make_cached_function(
    function: Callable[..., Any], parameters: dict[str, Any], extra: dict[str, Any]
) -> Any:
    """A ``functools.lru_cache`` of its own for the shipped function, empty."""
    made = functools.lru_cache(**parameters)(function)
    vars(made).update(extra)
    return made


def make_cached_property(function: Callable[[Any], Any], name: str | None) -> Any:
    """A ``functools.cached_property``, whose lock (before Python 3.12) stays behind."""
    made: functools.cached_property[Any] = functools.cached_property(function)
    if name is not None:
        made.__set_name__(object, name)
    return made


def module_globals(name: str) -> dict[str, Any]:
    """The namespace of a module: functions made within it run in it, so its state stays one."""
    namespace: dict[str, Any] = vars(_cp.subimport(name))
    return namespace


class _Globals(dict[str, Any]):
    """Stands for a module's namespace in a pickle."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return module_globals, (self.name,)


class _Ordered:
    """Stands for a frozenset among a code's constants, whose order differs from process to process."""

    def __init__(self, content: Iterable[Any]) -> None:
        self.content = sorted(content, key=repr)

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (self.content,)


def _ordered(constant: Any) -> Any:
    return _Ordered(constant) if type(constant) is frozenset else constant


def home(function: FunctionType) -> ModuleType | None:
    """The module of the user's own in whose namespace the function runs."""
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    if module is None or vars(module) is not function.__globals__:
        return None
    return module if origin(module) is Origin.OWN else None


_REDUCERS: dict[type, Callable[[Packer, Any], Any]] = {
    CodeType: Packer._code,
    ModuleType: Packer._module,
    BuiltinFunctionType: Packer._builtin,
    MethodType: Packer._method,
    random.Random: Packer._generator,
    functools._lru_cache_wrapper: Packer._cached_function,
    functools.cached_property: lambda _, made: (make_cached_property, (made.func, made.attrname)),
    weakref.WeakKeyDictionary: lambda _, made: (weakref.WeakKeyDictionary, (dict(made),)),
    weakref.WeakValueDictionary: lambda _, made: (weakref.WeakValueDictionary, (dict(made),)),
}


def define(cls: type, needs: Needs) -> tuple[Any, ...]:
    """Client, payload: the class itself."""
    return classes.reduce_definition(cls, stable=True)


def refer(cls: type, needs: Needs) -> tuple[Any, ...]:
    """Client, items: the class by its identity, to be defined by the payload."""
    needs.classes[cls] = None
    return classes.reduce_reference(cls, None)


def refer_and_define(cls: type, needs: Needs) -> tuple[Any, ...]:
    """Worker, results: the class by its identity, with a definition for a client that does not know it."""
    return classes.reduce_reference(cls, _definition)


def define_anew(cls: type, needs: Needs) -> tuple[Any, ...]:
    """Worker: the class itself, with an identity that no other process gives."""
    return classes.reduce_definition(cls, stable=False)


def _definition(cls: type) -> bytes:
    return dumps(cls, needs=Needs(), reduce_class=define_anew)


def dumps(value: Any, *, needs: Needs, reduce_class: Callable[[type, Needs], tuple[Any, ...]]) -> bytes:
    """Pickle one value into bytes."""
    out = io.BytesIO()
    Packer(out, needs=needs, reduce_class=reduce_class).dump(value)
    return out.getvalue()
