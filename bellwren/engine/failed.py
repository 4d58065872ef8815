"""An item that failed in the job whose results are the input."""

from __future__ import annotations

from dataclasses import replace

from bellwren.errors import TaskFailure
from bellwren.framing import Frame
from bellwren.payload.failure import decode_failure, failure_frame


class FailedItem:
    """It stays a failure, and no function is called on it."""

    def __init__(self, data: bytes) -> None:
        """``data`` is that of a FAILURE frame."""
        self._data = data

    def __call__(self) -> TaskFailure:
        """What is read in the item's place."""
        return decode_failure(self._data)[0]

    def frame(self, index: int) -> Frame:
        """The failure at its place in this job, its exception with it."""
        failure, exception = decode_failure(self._data)
        return failure_frame(replace(failure, index=index), exception)
