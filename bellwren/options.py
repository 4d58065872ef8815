"""The keyword options that every call takes, as one value. Their meaning and bounds are the job document's."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from bellwren.errors import Fault, SpecError


@dataclass(frozen=True)
class Options:
    """Options of ``map``, ``map_reduce`` and the other calls."""

    name: str | None = None
    """What people call the job; by default the function's name."""
    algorithm: str | None = None
    """Label under which runs are measured and forecast; by default the function's name."""
    workers: int | Literal["auto"] = "auto"
    memory_mb: int | Literal["auto"] = "auto"
    deadline_s: float | None = None
    budget_usd: float | None = None
    objective: Literal["cost", "time"] = "cost"
    retries: int = 2
    """Further tries of an item whose runner was lost."""
    retry_on: Sequence[str | type[BaseException]] = ()
    """The user's own exceptions that are tried again."""
    tolerate: float = 0.0
    """Share of the items that may fail before the job does."""
    item_timeout_s: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    requirements: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    output: str | Mapping[str, Any] | None = None
    """Folder for the results, ``s3://bucket/folder/``; by default they stay with the job. Or a mapping with ``uri``
    and ``format`` as in a job document: ``{"uri": "s3://bucket/folder/", "format": "parquet"}``."""
    progress: bool = True
    """Show a progress bar while waiting, on a terminal or in a notebook."""

    @staticmethod
    def of(given: Mapping[str, Any]) -> Options:
        """Read keyword arguments.

        Raises:
            SpecError: naming each option that there is not.
        """
        known = [one.name for one in fields(Options)]
        faults = []
        for name in given:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                faults.append(Fault(name, "an unknown option", f"{hint}options are {', '.join(known)}"))
        if faults:
            raise SpecError(faults)
        return Options(**given)

    def fields_of_document(self) -> dict[str, Any]:
        """The options in the form of the job document; what is not given is left out.

        Raises:
            SpecError: naming each option whose value is of no use; the bounds of values are checked with the document.
        """
        faults = [*_wrong_shapes(self)]
        if faults:
            raise SpecError(faults)
        document: dict[str, Any] = {
            "workers": self.workers,
            "memory_mb": self.memory_mb,
            "objective": self.objective,
            "retries": self.retries,
            "retry_on": [one if isinstance(one, str) else one.__name__ for one in self.retry_on],
            "tolerate": self.tolerate,
            "params": dict(self.params),
            "context": dict(self.context),
            "requirements": list(self.requirements),
            "env": dict(self.env),
        }
        for name in ("name", "algorithm", "deadline_s", "budget_usd", "item_timeout_s"):
            if (value := getattr(self, name)) is not None:
                document[name] = value
        return document


def _wrong_shapes(options: Options) -> Iterator[Fault]:
    for name in ("params", "context", "env"):
        if not isinstance(value := getattr(options, name), Mapping):
            yield Fault(name, _shown(value), "a dict")
    requirements = options.requirements
    # A text would be taken for a list of its letters.
    if isinstance(requirements, str) or not isinstance(requirements, Iterable):
        yield Fault("requirements", _shown(requirements), 'a list, such as ["pandas>=2"]')
    retried = options.retry_on
    if isinstance(retried, str) or not isinstance(retried, Iterable):
        yield Fault(
            "retry_on", _shown(retried), "a list of exception types or their names, such as [TimeoutError]"
        )
        return
    for number, one in enumerate(retried):
        if not isinstance(one, str) and not (isinstance(one, type) and issubclass(one, BaseException)):
            yield Fault(f"retry_on[{number}]", _shown(one), "an exception type or its name")


def _shown(value: object) -> str:
    return f"{reprlib.repr(value)}, a {type(value).__name__}"
