"""One stage of a job as a worker sees it, read from ``plan.json``.

A stage has ``tasks`` numbered tasks; each worker of a round gets the same description and its own number.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bellwren.parts import Format

Operation = Literal["map", "shuffle", "reduce", "sort", "merge", "supersteps", "train", "gather"]


@dataclass(frozen=True)
class Output:
    """Where the parts of a final stage go."""

    bucket: str
    prefix: str
    """Key prefix, with its slash."""
    format: Format


@dataclass(frozen=True)
class Stage:
    """What to do with which input, and where its output goes. JSON-able: it stands in ``plan.json`` as it is here."""

    name: str
    operation: Operation
    tasks: int
    """Number of tasks: chunks of the input, or partitions of the shuffle."""
    functions: dict[str, dict[str, Any]]
    """For each role (map, reduce, combine) where its code is: ``{"builtin"}`` | ``{"code": uri, "sha256", "entry"}`` |
    ``{"payload": key, "sha256", "python", "cloudpickle"}``."""
    input: dict[str, Any]
    """``{"kind": "items", "codec", "key", "etag"}`` | ``{"kind": "records", ...}`` | ``{"kind": "shuffle", "stage",
    "tasks"}`` | ``{"kind": "runs", "stage", "tasks"}``."""
    partitions: int = 0
    """Partitions that a shuffle stage writes."""
    output: Output | None = None
    """None for a stage whose output the next stage reads."""
    params: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    bundle: dict[str, Any] | None = None
    """The packages that the job requires: ``{"key", "sha256", "python", "unpacked_bytes", ...}``."""
    retries: int = 2
    retry_on: tuple[str, ...] = ()
    item_timeout_s: float | None = None
    sort: dict[str, Any] = field(default_factory=dict)
    """Of both stages of a sort: ``raw`` (a RawForm, or None), ``plain`` (whether records sort as bytes), ``format`` of
    the result, ``block_bytes``."""
    redo: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Tasks that a resumed job does again because items of theirs had failed: the ETag of the old output, and the
    round from which on they count as done."""

    supersteps: dict[str, Any] = field(default_factory=dict)
    """Of a stage of supersteps: ``partitions``, ``max_supersteps``, ``resident``, ``gather_s``. A task is a group. Of
    training: ``shards``, ``staleness``, ``parameters``."""

    @property
    def shareable(self) -> bool:
        """Whether several workers may each do some of a task's positions: results then follow one another."""
        return self.operation in ("map", "reduce") and not (self.output and self.output.format == "parquet")

    def as_dict(self) -> dict[str, Any]:
        """The form in which a stage stands in ``plan.json``."""
        return asdict(self)

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Stage:
        """Read back what ``as_dict`` wrote."""
        output = document.get("output")
        return Stage(
            **{
                **document,
                "output": Output(**output) if output else None,
                "retry_on": tuple(document.get("retry_on", ())),
                "redo": {task: (etag, round_) for task, (etag, round_) in document.get("redo", {}).items()},
            }
        )
