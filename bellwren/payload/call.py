"""One call that travels as an item of a job: what an executor's ``submit`` makes, and what a worker does with it.

Calls of many functions share one job. The payload of a function that several of them call is the job's own, once;
that of any other is in its call. Each is verified by its SHA-256 and loaded once in a runner.
"""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bellwren.payload.fresh import Function
    from bellwren.payload.pack import Payload
    from bellwren.payload.pickler import Needs

_KEPT = 32
"""Functions that a runner keeps loaded."""
_loaded: OrderedDict[str, Function] = OrderedDict()


class Call(NamedTuple):
    """A call as it travels."""

    sha256: str
    """Of the function's payload."""
    payload: bytes | None
    """The payload, unless the job carries it for all calls."""
    arguments: bytes
    """Pickle of ``(args, kwargs)``."""


def pack_arguments(calls: Iterable[tuple[tuple[Any, ...], Mapping[str, Any]]], needs: Needs) -> list[bytes]:
    """Client: each call's ``(args, kwargs)`` as they are now; what they refer to is added to ``needs``.

    Raises:
        PayloadError: naming what of the arguments cannot be shipped.
    """
    from bellwren.payload.items import ItemPickler  # noqa: PLC0415  loads cloudpickle, which is the client's

    pickler = ItemPickler(needs, noun="the argument list of call")
    return [pickler.dumps((tuple(args), dict(kwargs)), number) for number, (args, kwargs) in enumerate(calls)]


def perform(shared: tuple[tuple[str, bytes], ...], call: tuple[str, bytes | None, bytes]) -> Any:
    """Worker: call the function; ``shared`` holds the payloads that the job carries, by their SHA-256."""
    sha256, payload, arguments = call
    function = _function(sha256, payload, shared).for_task()
    args, kwargs = pickle.loads(arguments)  # noqa: S301 - the user's
    return function(*args, **kwargs)


def sharing(payloads: Iterable[Payload]) -> tuple[Callable[[Any], Any], frozenset[str]]:
    """Client: the function of a job for calls of these payloads (one for each call), and which it carries itself."""
    import functools  # noqa: PLC0415

    seen: set[str] = set()
    shared: dict[str, bytes] = {}
    for payload in payloads:
        if payload.sha256 in seen:
            shared[payload.sha256] = payload.data
        seen.add(payload.sha256)
    return functools.partial(perform, tuple(shared.items())), frozenset(shared)


def _function(sha256: str, payload: bytes | None, shared: tuple[tuple[str, bytes], ...]) -> Function:
    from bellwren.payload import unpack  # noqa: PLC0415  only calls of executors need it here

    if sha256 not in _loaded:
        data = payload if payload is not None else dict(shared)[sha256]
        _loaded[sha256] = unpack.load(data, sha256=sha256, folder=os.getcwd())
        if len(_loaded) > _KEPT:
            _loaded.popitem(last=False)
    _loaded.move_to_end(sha256)
    return _loaded[sha256]
