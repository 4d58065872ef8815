"""Exceptions as bytes that always load: rebuilt from what they hold, without calling their constructors.

Pickle rebuilds an exception by ``cls(*args)``, which fails for every class whose constructor takes anything else,
and runs user code in the client. Here the class, the arguments, the attributes, the causes and the members of a group
are encoded one by one, and `rebuild` fills a new object by the constructor of its *built-in* base alone. So nothing
needs a trial on the worker, odd constructors and a broken ``__reduce__`` do not matter, and one attribute that cannot
be pickled costs no more than itself: its text stands in its place.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from bellwren.payload.codecs import PROTOCOL
from bellwren.payload.text import short_repr

LIMIT_BYTES = 1 << 23
"""A larger attribute is replaced by its text."""
_CHAIN = 12
_MEMBERS = 200
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, not built in

Node = dict[str, Any]


def encode_exception(error: BaseException) -> bytes:
    """The bytes that `rebuild` takes; empty if its class cannot be named to another process."""
    try:
        node = _encode(error, _CHAIN, {})
        return b"" if node is None else pickle.dumps(node, PROTOCOL)
    except Exception:  # noqa: BLE001 - the failure is told without it; nothing may hide the user's own error
        return b""


def rebuild_exception(data: bytes) -> BaseException | None:
    """The exception; None if there is none, or its class cannot be had here. Never raises."""
    if not data:
        return None
    try:
        return _rebuild(pickle.loads(data))  # noqa: S301 - written by `encode_exception`
    except (Exception, SystemExit):  # noqa: BLE001 - a class or value that cannot be loaded here
        return None


def kinds(error: BaseException) -> tuple[str, ...]:
    """Names of the type and its bases, nearest first, built-in ones without a module: what ``retry_on`` matches."""
    return tuple(_name(kind) for kind in type(error).__mro__ if issubclass(kind, BaseException))


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _encode(error: BaseException, depth: int, seen: dict[int, None]) -> Node | None:
    """A node of plain values and pickles; None if the class cannot be pickled or the chain comes round."""
    if depth == 0 or id(error) in seen:
        return None
    seen[id(error)] = None
    try:
        node: Node = {"class": _dumps(type(error))}
    except Exception:  # noqa: BLE001 - a class that refers to something that cannot be pickled
        return None
    base = _builtin_base(type(error))
    members = list(error.exceptions[:_MEMBERS]) if isinstance(error, BaseExceptionGroup) else []
    arguments = (error.message,) if isinstance(error, BaseExceptionGroup) else _arguments(base, error)
    if not members and not _can_be_bare(type(error), base, arguments):
        own = _own_protocol(error)
        return None if own is None else {**node, "own": own}
    node["arguments"] = [_value(part) for part in arguments]
    node["state"] = {name: _value(part) for name, part in _state(base, error)}
    node["members"] = [_encode(part, depth - 1, seen) or _stand_in(part) for part in members]
    for link in ("__cause__", "__context__"):
        linked = getattr(error, link, None)
        node[link] = None if linked is None else _encode(linked, depth - 1, seen)
    node["suppress"] = bool(error.__suppress_context__)
    return node


def _rebuild(node: Node) -> BaseException:
    if "own" in node:
        made = pickle.loads(node["own"])  # noqa: S301
        if not isinstance(made, BaseException):
            raise TypeError(f"{type(made)} is no exception")
        return made
    cls = pickle.loads(node["class"])  # noqa: S301
    base = _builtin_base(cls)
    arguments = [_load(part) for part in node["arguments"]]
    if node["members"]:
        arguments.append([_rebuild(part) for part in node["members"]])
    error: BaseException = base.__new__(cls, *arguments)
    try:
        base.__init__(error, *arguments)
    except Exception:  # noqa: BLE001 - arguments that the built-in base refuses are kept as they were
        BaseException.__setattr__(error, "args", tuple(arguments))
    for name, part in node["state"].items():
        _set(error, name, _load(part))
    for link in ("__cause__", "__context__"):
        if node[link] is not None:
            BaseException.__setattr__(error, link, _rebuild(node[link]))
    BaseException.__setattr__(error, "__suppress_context__", node["suppress"])
    return error


def _builtin_base(cls: type) -> type[BaseException]:
    """The built-in class whose memory layout the exception has, whatever its other bases are."""
    while cls.__flags__ & _HEAP_TYPE and cls.__base__ is not None:
        cls = cls.__base__
    assert issubclass(cls, BaseException)
    return cls


def _arguments(base: type[BaseException], error: BaseException) -> tuple[Any, ...]:
    reduced = base.__reduce__(error)
    return tuple(reduced[1]) if isinstance(reduced, tuple) else tuple(error.args)


def _can_be_bare(cls: type[BaseException], base: type[BaseException], arguments: tuple[Any, ...]) -> bool:
    """Whether the built-in constructor may make the class; not so for types of C and Rust with more in them."""
    try:
        base.__new__(cls, *arguments)
    except Exception:  # noqa: BLE001 - refused for a reason that differs from type to type
        return False
    return True


def _own_protocol(error: BaseException) -> bytes | None:
    """The exception by its own pickling, if that loads again here; for classes that are not made in Python."""
    try:
        data = _dumps(error)
        return data if isinstance(pickle.loads(data), BaseException) else None  # noqa: S301
    except Exception:  # noqa: BLE001 - then the failure is told without the exception
        return None


def _state(base: type[BaseException], error: BaseException) -> Iterator[tuple[str, Any]]:
    reduced = base.__reduce__(error)
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    yield from (state or getattr(error, "__dict__", {})).items()
    for cls in type(error).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = cls.__dict__.get(name)
            if isinstance(member, MemberDescriptorType):
                try:
                    yield name, member.__get__(error)
                except AttributeError:  # not set
                    continue


def _set(error: BaseException, name: str, value: Any) -> None:
    """Set an attribute where it lives, without running any property or ``__setattr__`` of the user's."""
    for cls in type(error).__mro__:
        member = cls.__dict__.get(name)
        if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
            member.__set__(error, value)
            return
    error.__dict__[name] = value


def _stand_in(error: BaseException) -> Node:
    """A member of a group that cannot be encoded: an Exception with its text."""
    text = f"{_name(type(error))}: {short_repr(error)}"
    return {
        "class": pickle.dumps(Exception, PROTOCOL),
        "arguments": [_value(text)],
        "state": {},
        "members": [],
        "__cause__": None,
        "__context__": None,
        "suppress": False,
    }


def _value(value: Any) -> bytes:
    try:
        data = _dumps(value)
    except Exception:  # noqa: BLE001 - whatever an object's own pickling raises
        data = b""
    return data if 0 < len(data) <= LIMIT_BYTES else pickle.dumps(short_repr(value), PROTOCOL)


def _load(data: bytes) -> Any:
    try:
        return pickle.loads(data)  # noqa: S301
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one attribute is no reason to lose the exception
        return f"<cannot be loaded here: {short_repr(error)}>"


def _dumps(value: Any) -> bytes:
    from bellwren.payload.results import dumps_result  # noqa: PLC0415 - it loads this module's users

    return dumps_result(value)
