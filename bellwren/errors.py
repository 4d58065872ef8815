"""Everything that Bellwren raises, in one place: each message names the thing, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class BellwrenError(Exception):
    """Base class of every error that Bellwren raises itself."""


class NotDeployed(BellwrenError):
    """No deployment of the stage was found in this account and region."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a job document."""

    field: str
    """Dotted path of the field, e.g. ``input.chunk`` or ``items[3]``; empty for the document itself."""
    found: str
    """What stands there, shortened."""
    allowed: str
    """What may stand there, and what to do."""

    def __str__(self) -> str:
        return f"{self.field or 'document'}: found {self.found}; allowed: {self.allowed}"

    def as_dict(self) -> dict[str, str]:
        """The form in which a fault stands in ``status.json``."""
        return {"field": self.field, "found": self.found, "allowed": self.allowed}


class SpecError(BellwrenError):
    """A job document (or the same options as keywords) is wrong; ``faults`` lists every fault, not just the first."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = "\n".join(f"  {fault}" for fault in self.faults)
        super().__init__(f"the job document has {len(self.faults)} fault(s):\n{lines}")


class PayloadError(BellwrenError):
    """A function, an item or a captured variable cannot be shipped to a worker; the message names it."""


class VersionMismatch(BellwrenError):
    """Client and worker differ in Python minor or cloudpickle version; nothing was unpickled."""


class InputError(BellwrenError):
    """An input object is missing, damaged, changed during the job, or not what its format says; the key is named."""


class JobFailed(BellwrenError):
    """The job ended without a result for a reason that is not one task's exception."""


class NestedJob(BellwrenError):
    """A job cannot be started from within a function that a job runs."""


class JobCancelled(BellwrenError):
    """The job was cancelled."""


@dataclass(frozen=True)
class TaskFailure:
    """Why one item has no result. Stands in the item's place where ``tolerate`` lets the job succeed."""

    index: int
    """Position of the item in the input."""
    type: str
    """Name of the exception type, or what became of the runner: ``WorkerDied``, ``OutOfMemory``, ``TimedOut``."""
    message: str
    """The exception's text."""
    traceback: str = ""
    """The remote traceback, formatted."""
    item: str = ""
    """A shortened repr of the item."""

    def as_dict(self) -> dict[str, Any]:
        """The form in which a failure stands in ``status.json`` and ``errors/``."""
        return {
            "index": self.index,
            "type": self.type,
            "message": self.message,
            "traceback": self.traceback,
            "item": self.item,
        }


class TaskError(BellwrenError):
    """An item of the job failed. ``__cause__`` is the user's own exception when it can be rebuilt."""

    def __init__(self, failure: TaskFailure, *, failed: int = 1) -> None:
        self.failure = failure
        self.index = failure.index
        self.remote_traceback = failure.traceback
        others = f" (and {failed - 1} more item(s) failed)" if failed > 1 else ""
        super().__init__(
            f"item {failure.index} failed with {failure.type}: {failure.message}{others}\n{failure.traceback}".rstrip()
        )
