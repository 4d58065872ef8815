"""The bytes of a FAILURE frame: what is to be told in JSON, and the exception itself in bytes beside it.

Whoever writes ``status.json`` or ``errors/`` reads the JSON and never unpickles what a user's code made.
"""

from __future__ import annotations

import json
import struct

from bellwren.errors import InputError, TaskFailure
from bellwren.framing import Frame, Kind

_LENGTH = struct.Struct("<I")


def failure_frame(failure: TaskFailure, exception: bytes = b"") -> Frame:
    """The frame of a failed item; ``exception`` comes from ``exceptions.encode_exception``, if there was one."""
    head = json.dumps(failure.as_dict()).encode()
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
