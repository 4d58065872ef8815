"""The bytes of a FAILURE frame: what is to be told in JSON, and the exception itself in bytes beside it.

Whoever writes ``status.json`` or ``errors/`` reads the JSON and never unpickles what a user's code made.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Frame, Kind

_LENGTH = struct.Struct("<I")


def failure_frame(failure: TaskFailure, *, kinds: Sequence[str] = (), exception: bytes = b"") -> Frame:
    """The frame of a failed item.

    ``kinds`` are the names of the exception's type and of its bases, nearest first; ``exception`` comes from
    ``exceptions.encode_exception``. Both are empty where there is no exception (a runner that died).
    """
    head = json.dumps({**failure.as_dict(), "kinds": list(kinds) or [failure.type]}).encode()
    return Frame(Kind.FAILURE, _LENGTH.pack(len(head)) + head + exception)


def decode_failure(data: bytes) -> tuple[TaskFailure, bytes]:
    """What a FAILURE frame says, and the encoded exception (maybe empty). InputError if it is no such frame."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[4 : 4 + length])
        failure = TaskFailure(head["index"], head["type"], head["message"], head["traceback"], head["item"])
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise InputError(f"a failure frame of {len(data)} bytes cannot be read: {error!r}") from error
    return failure, data[4 + length :]


def failure_kinds(data: bytes) -> tuple[str, ...]:
    """Names that ``retry_on`` may use: the exception's type and its bases, builtins without a module."""
    decode_failure(data)
    (length,) = _LENGTH.unpack_from(data)
    return tuple(json.loads(data[4 : 4 + length]).get("kinds", ()))
