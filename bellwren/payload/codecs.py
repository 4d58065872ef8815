"""How a value becomes bytes: ``pickle`` between Python and Python, ``json`` for documents and JSON Lines.

JSON is strict here, so that what is read is what was written: NaN and Infinity, bytes, sets, keys that are no
strings and objects are refused, each by its place. One thing does change: a tuple is written as an array.
"""

from __future__ import annotations

import json
import math
import pickle
from typing import Any, Literal

from bellwren.errors import PayloadError
from bellwren.framing import Frame, Kind
from bellwren.payload.failure import decode_failure

Codec = Literal["pickle", "json"]
PROTOCOL = 5
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def decode(frame: Frame, codec: Codec) -> Any:
    """The value of a frame; a failed item is its `TaskFailure`. Whatever unpickling raises is raised."""
    if frame.kind is Kind.VALUE:
        return json.loads(frame.data) if codec == "json" else pickle.loads(frame.data)  # noqa: S301 - the user's
    return None if frame.kind is Kind.NONE else decode_failure(frame.data)[0]


def encode_json(value: Any, *, what: str = "the value") -> bytes:
    """``value`` as one line of strict JSON in UTF-8.

    PayloadError names ``what`` (say, ``item 3``) and the place within it that JSON cannot hold.
    """
    try:
        _check(value, what, ())
        text = _encode(value)
    except RecursionError:
        raise PayloadError(f"{what} is nested too deeply, or contains itself; JSON cannot hold it") from None
    except ValueError as error:  # an integer of more digits than Python writes
        raise PayloadError(f"{what} cannot be written as JSON: {error}") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8; JSON's own escape keeps it
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def failure_line(data: bytes) -> bytes:
    """The line of JSON Lines that stands in the place of a failed item."""
    failure, _ = decode_failure(data)
    document = {
        "bellwren": "TaskFailure",
        "index": failure.index,
        "type": failure.type,
        "message": failure.message,
        "traceback": failure.traceback,
    }
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _check(value: Any, what: str, path: tuple[Any, ...]) -> None:
    if value is None or isinstance(value, (str, bool)):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PayloadError(
                f"{_place(what, path)} is {value!r}, which JSON does not have; use None or a text"
            )
    elif isinstance(value, int):
        return
    elif isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise PayloadError(
                    f"{_place(what, path)} has the key {key!r}, a {type(key).__name__}; JSON keys are texts: "
                    "use str(key)"
                )
            _check(part, what, (*path, key))
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            _check(part, what, (*path, number))
    else:
        raise PayloadError(
            f"{_place(what, path)} is a {type(value).__module__}.{type(value).__qualname__}, which JSON does not "
            "have; allowed: None, bool, int, float, str, list, tuple and dict (bytes as base64 text, a set as a "
            "sorted list)"
        )


def _place(what: str, path: tuple[Any, ...]) -> str:
    return what + "".join(f"[{step!r}]" for step in path)
