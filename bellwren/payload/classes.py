"""Classes that no module on the other side defines: those of ``__main__``, of notebooks, and made within functions.

cloudpickle ships such a class with every object of it, and loading it again sets its attributes anew, on the
user's own class too, whose methods then run in a copy of the user's globals. Here a class travels in two ways:

- its *definition* (`reduce_definition`), once, within the payload; loading it a second time changes nothing;
- a *reference* (`reduce_reference`) in items, results and exceptions, which is looked up by the identity that the
  definition gave it. So a result of the user's class is an instance of the user's class.

This module is the one that touches cloudpickle's private parts; client and worker have equal versions of it.
"""

from __future__ import annotations

import collections
import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from cloudpickle import cloudpickle as _cp

from bellwren.errors import PayloadError

Reduced = tuple[Any, ...]

_lock = threading.Lock()
_undefined: WeakSet[type] = WeakSet()
"""Classes that were made and whose attributes are not set yet."""
_ordinals: dict[str, int] = {}
_definitions: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()
_TRACKER_ID = -2  # its place in the arguments of both of cloudpickle's makers


def reduce_definition(cls: type, *, stable: bool) -> Reduced:
    """How to pickle the whole of a class.

    ``stable`` gives the class an identity that is the same in every run of the client's program, so that equal
    functions make equal payloads. A worker must not: two workers would give two classes one identity.
    """
    _track(cls, stable)
    fields = _namedtuple_fields(cls)
    if fields is not None:
        defaults = tuple(cls._field_defaults.values())  # type: ignore[attr-defined]
        return define_namedtuple, (_identity(cls), cls.__module__, cls.__qualname__, fields, defaults)
    make, arguments, state, *_ = _cp._dynamic_class_reduce(cls)
    maker = define_enum if make is _cp._make_skeleton_enum else define_class
    return maker, arguments, state, None, None, set_state


def reduce_reference(cls: type, define: Callable[[type], bytes] | None) -> Reduced:
    """How to pickle a class by its identity.

    ``define`` makes the definition to carry along for a reader that does not know the class; None where the reader
    has it from the payload.
    """
    _track(cls, stable=define is None)
    definition = None
    if define is not None:
        definition = _definitions.get(cls)
        if definition is None:
            definition = _definitions[cls] = define(cls)
    return resolve, (_identity(cls), cls.__module__, cls.__qualname__, definition)


def resolve(identity: str, module: str, qualname: str, definition: bytes | None) -> type:
    """The class of a reference: the one of that identity, else of that name, else made from its definition."""
    known = _cp._DYNAMIC_CLASS_TRACKER_BY_ID.get(identity)
    if known is not None:
        return known  # type: ignore[no-any-return]
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    if isinstance(found, type):
        return found
    if definition is None:
        raise PayloadError(
            f"class {module}.{qualname} is neither defined here nor part of the payload; give `pack` the needs of "
            "the items that use it"
        )
    made = _cp.loads(definition)
    assert isinstance(made, type)
    return made


def define_class(*arguments: Any) -> type:
    """Make a class with no attributes yet, or give the one of that identity that exists."""
    return _define(_cp._make_skeleton_class, arguments)


def define_enum(*arguments: Any) -> type:
    """The same for an enumeration."""
    return _define(_cp._make_skeleton_enum, arguments)


def define_namedtuple(
    identity: str, module: str, qualname: str, fields: tuple[str, ...], defaults: tuple[Any, ...]
) -> type:
    """Make a plain namedtuple again: its fields say all of it, in a tenth of the bytes."""
    name = qualname.rpartition(".")[2]
    made = collections.namedtuple(name, fields, defaults=defaults, module=module)  # type: ignore[misc]
    made.__qualname__ = qualname
    return _cp._lookup_class_or_track(identity, made)  # type: ignore[no-any-return]


def set_state(cls: type, state: Any) -> None:
    """Give a class its attributes, unless it was complete before."""
    with _lock:
        fresh = cls in _undefined
    if fresh:
        _cp._class_setstate(cls, state)
        with _lock:
            _undefined.discard(cls)


def _define(make: Callable[..., Any], arguments: tuple[Any, ...]) -> type:
    known = _cp._DYNAMIC_CLASS_TRACKER_BY_ID.get(arguments[_TRACKER_ID])
    if known is not None:
        return known  # type: ignore[no-any-return]
    made: type = make(*arguments)
    with _lock:
        _undefined.add(made)
    return made


def _identity(cls: type) -> str:
    return _cp._get_or_create_tracker_id(cls)  # type: ignore[no-any-return]


def _track(cls: type, stable: bool) -> None:
    """Give a top-level class of the client a name as identity; cloudpickle gives any other a random one."""
    if not stable or "<locals>" in cls.__qualname__ or cls in _cp._DYNAMIC_CLASS_TRACKER_BY_CLASS:
        return
    name = f"{cls.__module__}.{cls.__qualname__}"
    with _lock:
        ordinal = _ordinals[name] = _ordinals.get(name, 0) + 1
    _cp._lookup_class_or_track(f"{name}#{ordinal}", cls)


def _namedtuple_fields(cls: type) -> tuple[str, ...] | None:
    """The fields of a class that is what `collections.namedtuple` makes and nothing more."""
    fields = cls.__dict__.get("_fields")
    if cls.__bases__ != (tuple,) or not isinstance(fields, tuple) or not hasattr(cls, "_field_defaults"):
        return None
    if cls.__name__ != cls.__qualname__.rpartition(".")[2]:
        return None
    plain = set(collections.namedtuple("plain", ["field"]).__dict__) - {"field"}
    return fields if set(cls.__dict__) - set(fields) == plain and "__doc__" in cls.__dict__ else None
