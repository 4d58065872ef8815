"""One call of user code, and the frame that stands for it in the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bellwren import current
from bellwren.errors import TaskFailure
from bellwren.framing import Frame
from bellwren.payload import outcome, seeding
from bellwren.payload.codecs import Codec
from bellwren.payload.exceptions import kinds
from bellwren.payload.failure import decode_failure
from bellwren.payload.results import result_frame
from bellwren.payload.text import short_repr

_UNREAD = object()


@dataclass(frozen=True)
class Caller:
    """How the items of one stage are called."""

    job_id: str
    codec: Codec
    """How a result becomes bytes."""
    retries: int
    retry_on: tuple[str, ...]
    """Names of the user's exceptions that are tried again, with or without their module."""

    def call(self, function: Callable[[Any], Any], read: Callable[[], Any], *, index: int) -> Frame:
        """Read the input and call the function on it; whatever it raises is the item's failure.

        Only a ``MemoryError`` passes, since then the runner itself is to be replaced.
        """
        tries = 0
        while True:
            value: Any = _UNREAD
            try:
                seeding.seed(self.job_id, index)
                current.enter(self.job_id, index)
                value = read()
                return result_frame(outcome.finish(function(value)), self.codec, index=index)
            except MemoryError:
                raise
            except BaseException as error:  # noqa: BLE001  SystemExit too is the item's failure, never the runner's end
                tries += 1
                if tries <= self.retries and self._is_retried(error):
                    continue
                return outcome.failed(
                    error, index=index, item=None if value is _UNREAD else short_repr(value)
                )

    def _is_retried(self, error: BaseException) -> bool:
        names = {name for kind in kinds(error) for name in (kind, kind.rpartition(".")[2])}
        return not names.isdisjoint(self.retry_on)


def describe(error: BaseException) -> TaskFailure:
    """What is told of an error that concerns no item but the whole job."""
    return decode_failure(outcome.failed(error, index=-1).data)[0]
