"""Finds the variable that keeps a function, an item or a result from being pickled, and says what to do.

Pickle says that a lock cannot be pickled; a user needs to know that it is ``cache`` in the closure of ``f``. So
after a failure the parts of the object are tried one by one, and the first that fails is looked into.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from cloudpickle import cloudpickle as _cp

from bellwren.payload import resources
from bellwren.payload.origins import Origin, origin
from bellwren.payload.pickler import Needs, Packer, Refused, home

_DEPTH = 40
Part = tuple[str, Any]
Reducer = Callable[[type, Needs], tuple[Any, ...]]


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: bytes) -> int:
        return len(data)


def explain(value: Any, name: str, error: BaseException, *, reduce_class: Reducer) -> str:
    """Why ``value``, called ``name``, cannot be pickled: which variable, of what type, and the way out.

    ``error`` is what pickling it raised.
    """
    if isinstance(error, RecursionError) or "recursion" in str(error):
        return f"{name} is nested too deeply to be pickled; flatten it, e.g. into lists"
    place, culprit, error = _search(value, name, error, reduce_class)
    kind = resources.type_name(culprit)
    known = resources.explain(type(culprit))
    reason = "" if isinstance(error, Refused) else f" ({_text(error)})"
    if known is not None:
        what, way_out = known
        return f"{place} is {what}: {kind}{reason}; {way_out}"
    if isinstance(culprit, ModuleType):
        return f"{place} is the module {culprit.__name__!r}{reason}; pass the values that are used"
    return (
        f"{place} is a {kind}, which cannot be pickled{reason}; make it inside the function, or pass the plain "
        "data that it is made from"
    )


def _search(
    value: Any, name: str, error: BaseException, reduce_class: Reducer
) -> tuple[str, Any, BaseException]:
    place = name
    visited = {id(value)}
    for _ in range(_DEPTH):
        for label, part in () if _is_closed(value) else _parts(value):
            if id(part) in visited:
                continue
            failed = _try(part, reduce_class)
            if failed is not None and not isinstance(failed, RecursionError):
                visited.add(id(part))
                place = f"{label} of {_subject(value, place)}"
                value, error = part, failed
                break
        else:
            break
    return place, value, error


def _subject(value: Any, place: str) -> str:
    """How to speak of the owner of a variable: a function by its own name, anything else by its place."""
    return f"function {value.__name__!r}" if isinstance(value, FunctionType) else place


def _try(value: Any, reduce_class: Reducer) -> BaseException | None:
    try:
        Packer(_Nowhere(), needs=Needs(), reduce_class=reduce_class, buffer_callback=_ignore).dump(value)
    except Exception as error:  # noqa: BLE001 - whatever an object's own pickling raises
        return error
    return None


def _ignore(_: pickle.PickleBuffer) -> bool:
    return False


def _is_closed(value: Any) -> bool:
    """Whether to stop here: the inner parts of a library's object mean nothing to its user."""
    if type(value) in _CONTAINERS or isinstance(value, (FunctionType, MethodType, ModuleType, type)):
        return False
    module = sys.modules.get(type(value).__module__)
    return module is None or origin(module) not in (Origin.OWN, Origin.SOURCELESS)


def _parts(value: Any) -> Iterator[Part]:
    """What pickling the value pickles, each with what a user calls it."""
    look = _CONTAINERS.get(type(value))
    if look is not None:
        yield from look(value)
    elif isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, MethodType):
        yield "the object", value.__self__
        yield "the function", value.__func__
    elif isinstance(value, type):
        for name, part in vars(value).items():
            yield f"attribute {name!r}", getattr(part, "__func__", getattr(part, "fget", part))
    elif isinstance(value, ModuleType):
        yield from ((f"attribute {name!r}", part) for name, part in vars(value).items())
    else:
        yield from _state(value)


def _function_parts(function: FunctionType) -> Iterator[Part]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"closure variable {name!r}", cell.cell_contents
        except ValueError:  # not bound yet
            continue
    if home(function) is None:
        names = [name for name in _cp._extract_code_globals(code) if name in function.__globals__]
        yield from ((f"global {name!r}", function.__globals__[name]) for name in names)
    defaults = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    for name, part in zip(positional[len(positional) - len(defaults) :], defaults, strict=True):
        yield f"the default of parameter {name!r}", part
    for name, part in (function.__kwdefaults__ or {}).items():
        yield f"the default of parameter {name!r}", part
    for name, part in function.__annotations__.items():
        yield f"the annotation of {name!r}", part
    for name, part in vars(function).items():
        yield f"attribute {name!r}", part


def _state(value: Any) -> Iterator[Part]:
    """The attributes of an object: those that it says are its state, else all."""
    try:
        reduced = value.__reduce_ex__(5)
        state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    except Exception:  # noqa: BLE001 - whatever an object's own pickling raises
        state = None
    if isinstance(state, tuple) and len(state) == 2:  # (dict, slots)
        state = {**(state[0] or {}), **(state[1] or {})} if isinstance(state[1], dict) else None
    if not isinstance(state, dict):
        state = getattr(value, "__dict__", {})
    yield from ((f"attribute {name!r}", part) for name, part in state.items())
    yield "its class", type(value)


_CONTAINERS: dict[type, Callable[[Any], Iterator[Part]]] = {
    dict: lambda value: (
        part for key, item in value.items() for part in ((f"key {key!r:.80}", item), ("a key", key))
    ),
    **dict.fromkeys(
        (list, tuple, deque),
        lambda value: ((f"element {number}", part) for number, part in enumerate(value)),
    ),
    **dict.fromkeys((set, frozenset), lambda value: (("an element", part) for part in value)),
    MappingProxyType: lambda value: ((f"key {key!r:.80}", part) for key, part in value.items()),
    functools.partial: lambda value: iter(
        [
            ("the function", value.func),
            *((f"argument {number}", part) for number, part in enumerate(value.args)),
            *((f"argument {name!r}", part) for name, part in value.keywords.items()),
        ]
    ),
    functools._lru_cache_wrapper: lambda value: iter([("the function", value.__wrapped__)]),
    CellType: lambda value: iter([("the content", value.cell_contents)]),
}


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
