"""Worker side: gives every task the function as it was shipped.

What is promised:

- a callable object, a bound method, a partial or a closure that holds anything changeable is loaded afresh for every
  task, so a task never sees what another left in it, however tasks are spread over workers;
- above `SMALL_BYTES` that would cost more than many a task, so there it is loaded once and compared with what was
  shipped before the tasks 1, 2, 4, 8...; after the first difference it is loaded afresh for every task;
- a function that holds nothing changeable is loaded once, and its globals belong to the runner: a model or a
  connection that a task keeps in a global is found by the next task of the same runner. So are globals of modules and
  attributes of classes in every case. Use them as a cache, never for results.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import re
from collections.abc import Callable
from dis import get_instructions
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

from bellwren.payload.envelope import Envelope

SMALL_BYTES = 1 << 20
_CONSTANT = {
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    type(Ellipsis),
    type,
    ModuleType,
    re.Pattern,
}
_CONSTANT_BY_NAME = {
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "operator": {"attrgetter", "itemgetter"},
    "uuid": {"UUID"},
}
"""Types that a worker need not have imported."""
_STATELESS = (MethodDescriptorType, functools._lru_cache_wrapper)


class Function:
    """The function of a payload: call it once for each task, or let `for_task` give what one task may call often."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope: Envelope | None = envelope
        self.name = envelope.name
        self._fn, self._classes = _load(envelope)  # items refer to the classes, which nothing else may hold
        self._size = len(envelope.pickle) + sum(map(len, envelope.buffers))
        self._shipped: bytes | None = None
        self._tasks = 0
        self._always = False
        self.constant = not is_stateful(self._fn)
        """Whether it holds nothing changeable, so that ``for_task`` always gives the same."""
        if self.constant:
            self._envelope = None  # what was loaded is used as it is: the bytes are not needed again
        elif self._size <= SMALL_BYTES:
            self._always = True
        else:
            self._shipped = _digest(self._fn)

    def __call__(self, *arguments: Any) -> Any:
        """Run one task."""
        return self.for_task()(*arguments)

    def for_task(self) -> Callable[..., Any]:
        """The callable for the next task."""
        done, self._tasks = self._tasks, self._tasks + 1
        if self._envelope is None or done == 0:
            return self._fn
        if not self._always and done & (done - 1) == 0:
            self._always = _digest(self._fn) != self._shipped
        if self._always:
            self._fn, _ = _load(self._envelope)
        return self._fn


def is_stateful(fn: Any) -> bool:
    """Whether calling it may leave something in it: False only where that is certain (globals apart)."""
    return not _is_constant(fn, set())


def _is_constant(value: Any, seen: set[int]) -> bool:
    kind = type(value)
    if id(value) in seen or isinstance(value, (*_STATELESS, type)) or kind in _CONSTANT:
        return True
    if kind.__name__ in _CONSTANT_BY_NAME.get(kind.__module__, ()):
        return True
    seen.add(id(value))
    held = _held(value)
    return held is not None and all(_is_constant(part, seen) for part in held)


def _held(value: Any) -> list[Any] | None:
    """What an unchangeable value holds; None for a value that can be changed, or may be."""
    if isinstance(value, FunctionType):
        return _held_by_function(value)
    if isinstance(value, BuiltinFunctionType):
        return [value.__self__]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if type(value) is functools.partial and not vars(value):
        return [value.func, *value.args, *value.keywords.values()]
    return list(value) if type(value) in (tuple, frozenset) else None


def _held_by_function(function: FunctionType) -> list[Any] | None:
    stored = {i.argval for i in get_instructions(function.__code__) if i.opname == "STORE_DEREF"}
    if stored & set(function.__code__.co_freevars):
        return None
    held: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    held += [part for name, part in vars(function).items() if name != "__wrapped__"]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not bound yet
            return None
    return held


def _load(envelope: Envelope) -> tuple[Callable[..., Any], tuple[type, ...]]:
    pairs = zip(envelope.buffers, envelope.writable, strict=True)
    buffers = [bytearray(buffer) if writable else buffer for buffer, writable in pairs]
    fn, classes = pickle.loads(envelope.pickle, buffers=buffers)  # noqa: S301 - verified by its SHA-256
    return fn, classes


def _digest(fn: Any) -> bytes:
    """A hash of all that the function holds; differs from the earlier one after any change."""
    from bellwren.payload.pickler import Needs, Packer, define_anew  # noqa: PLC0415 - loads cloudpickle

    sink = _Hash()
    try:
        Packer(sink, needs=Needs(), reduce_class=define_anew).dump(fn)
    except Exception:  # noqa: BLE001 - it holds something now that cannot be pickled, which is a change
        return b""
    return sink.hash.digest()


class _Hash:
    """A file that keeps only the hash of what is written."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return len(data)
