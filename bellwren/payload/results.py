"""Worker side: what a function returned, as bytes for the client."""

from __future__ import annotations

import pickle
from typing import Any

from bellwren.errors import PayloadError
from bellwren.framing import Frame, Kind
from bellwren.payload.codecs import PROTOCOL, Codec, encode_json

_NONE = Frame(Kind.NONE, b"")


def result_frame(value: Any, codec: Codec, *, index: int) -> Frame:
    """The frame of a result. PayloadError names its type and the place in it that cannot be shipped."""
    if value is None:
        return _NONE
    if codec == "json":
        return Frame(Kind.VALUE, encode_json(value, what=f"the result of item {index}"))
    return Frame(Kind.VALUE, dumps_named(value, "result"))


def dumps_named(value: Any, what: str) -> bytes:
    """As `dumps_result`.

    Raises:
        PayloadError: if that cannot be done, saying ``what`` the value is, its type, and the place in it.
    """
    try:
        return dumps_result(value)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an object's own pickling raises
        raise PayloadError(_explain(value, what, error)) from None


def dumps_result(value: Any) -> bytes:
    """Pickle a value for the client, classes and functions that it does not have included."""
    try:
        return pickle.dumps(value, PROTOCOL)  # ten times as fast, and right for all that is importable
    except Exception:  # noqa: BLE001 - cloudpickle may do it, or says why not
        from bellwren.payload.pickler import Needs, dumps, refer_and_define  # noqa: PLC0415

        return dumps(value, needs=Needs(), reduce_class=refer_and_define)


def _explain(value: Any, what: str, error: BaseException) -> str:
    from bellwren.payload import culprit  # noqa: PLC0415 - loads cloudpickle
    from bellwren.payload.pickler import refer_and_define  # noqa: PLC0415
    from bellwren.payload.resources import type_name  # noqa: PLC0415

    reason = culprit.explain(value, f"the {what}", error, reduce_class=refer_and_define)
    return f"{what} not serialisable: {type_name(value)}. {reason}"
