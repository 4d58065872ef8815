"""What became of one item: `finish` and `failed` on the worker, `rebuild` and `value_of` on the client.

The caller of user code catches ``BaseException``: ``SystemExit`` (with code 0 too) and ``KeyboardInterrupt`` are
that item's failure like any other. What kills the process is the supervisor's to report.
"""

from __future__ import annotations

import os
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import Any

from bellwren.errors import PayloadError, TaskFailure
from bellwren.framing import Frame
from bellwren.payload import lines
from bellwren.payload.codecs import Codec, decode
from bellwren.payload.exceptions import encode_exception, rebuild_exception
from bellwren.payload.failure import decode_failure, failure_frame
from bellwren.payload.text import TRACEBACK_LIMIT, clip, message_of

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def finish(returned: Any) -> Any:
    """The result of a call: of a generator the list of what it yields, of a coroutine what it returns."""
    if isinstance(returned, GeneratorType):
        return list(returned)
    if isinstance(returned, (CoroutineType, AsyncGeneratorType)):
        import asyncio  # noqa: PLC0415 - a tenth of a second that few functions need

        waiting = _gather(returned) if isinstance(returned, AsyncGeneratorType) else returned
        return asyncio.run(waiting)
    return returned


def failed(error: BaseException, *, index: int, item: str | None = None) -> Frame:
    """The FAILURE frame of an exception that was caught; ``item`` is a short text of the item."""
    failure = TaskFailure(
        index=index,
        type=type(error).__name__,
        message=message_of(error) + _hint(error),
        traceback=traceback_text(error),
        item=item or "",
    )
    frame = failure_frame(failure, encode_exception(error))
    error.__traceback__ = None  # its frames hold the item and all the function's variables
    return frame


def traceback_text(error: BaseException) -> str:
    """The traceback from the first frame of the user's code on, causes and groups included."""
    import traceback  # noqa: PLC0415 - most tasks have none

    try:
        lines.publish()
        shown = traceback.TracebackException(
            type(error), error, _from_user_code(error.__traceback__), compact=True
        )
        return clip("".join(shown.format()), TRACEBACK_LIMIT).rstrip("\n")
    except BaseException as broken:  # noqa: BLE001 - an exception that cannot even be described is still told
        frames = "".join(traceback.format_tb(_from_user_code(error.__traceback__)))
        name = type(error).__name__
        return clip(f"{frames}{name} (formatting it raises {type(broken).__qualname__})", TRACEBACK_LIMIT)


def rebuild(data: bytes) -> tuple[TaskFailure, BaseException | None]:
    """Client side: what a FAILURE frame tells, and the user's own exception if it can be had here."""
    failure, exception = decode_failure(data)
    return failure, rebuild_exception(exception)


def value_of(frame: Frame, codec: Codec = "pickle", *, index: int) -> Any:
    """Client side: the value of a frame; a `TaskFailure` for an item that failed.

    PayloadError, naming the item, if its result cannot be loaded here (a class of a module that is not there).
    """
    try:
        return decode(frame, codec)
    except (Exception, SystemExit) as error:
        raise PayloadError(
            f"the result of item {index} cannot be loaded here: {type(error).__qualname__}: {message_of(error)}"
        ) from error


async def _gather(generator: AsyncGeneratorType[Any, None]) -> list[Any]:
    return [part async for part in generator]


def _from_user_code(trace: TracebackType | None) -> TracebackType | None:
    """Skip the frames at the beginning that are Bellwren's, or asyncio's on its behalf."""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(_OURS) and f"{os.sep}asyncio{os.sep}" not in name:
            return trace
        trace = trace.tb_next
    return None


def _hint(error: BaseException) -> str:
    """What to do about a module that the worker does not have."""
    name = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or not isinstance(name, str):
        return ""
    return f" (the worker does not have it: pass requirements=[...] with the package that provides {name!r})"
