"""One call of user code, and what stands for it in the results."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from bellwren.errors import TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.payload.codecs import encode_json
from bellwren.payload.failure import failure_frame


def call(function: Callable[..., Any], args: tuple[Any, ...], *, index: int, codec: str) -> Frame:
    try:
        value = function(*args)
        if value is None:
            return Frame(Kind.NONE, b"")
        data = encode_json(value) if codec == "json" else pickle.dumps(value, 5)
        return Frame(Kind.VALUE, data)
    except MemoryError:
        raise
    except BaseException as error:
        return failure_frame(describe_failure(error, index=index))


def describe_failure(error: BaseException, *, index: int) -> TaskFailure:
    return TaskFailure(index, type(error).__name__, str(error), traceback.format_exc())
