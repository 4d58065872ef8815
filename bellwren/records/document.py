"""The execution record as it lies in storage, field by field: the one source of its types and of its JSON Schema.

A record is written once and read for years, so the schema has a number. What is new in a number is said here:

1. the first;
2. `contended`, and for each stage `queue_s` and `reinvocations`; `most_tasks` and `data`; records of other systems
   (`source`) too.

Readers take every number up to their own and pass over fields that they do not know.
"""

from __future__ import annotations

from typing import Any, Literal, Required

from typing_extensions import (
    TypedDict,
)  # pydantic, which makes the JSON Schema, wants this one before Python 3.12

Outcome = Literal["SUCCEEDED", "FAILED", "CANCELLED"]


class StageRecord(TypedDict, total=False):
    """One stage of a job. Seconds of different kinds are kept apart: only `compute_s` is the work itself."""

    name: Required[str]
    """``map``, ``reduce``, ``supersteps``, ..."""
    tasks: Required[int]
    """Pieces that the stage was cut into."""
    workers: Required[int]
    """Workers that took part."""
    invocations: Required[int]
    """Lambda invocations that reported: workers, times rounds, and repetitions."""
    reinvocations: int
    """Invocations beyond one for each worker and round: the service's own retries."""
    started_at: Required[float]
    """When its first worker started, in seconds since 1970."""
    wall_s: Required[float]
    """From the first worker's start to the last one's end."""
    queue_s: float
    """From the first worker's start to the last one's, over all rounds: cold starts, throttling, waiting."""
    fetch_s: Required[float]
    """Reading inputs, summed over tasks."""
    compute_s: Required[float]
    """Running the job's functions, summed over tasks."""
    commit_s: Required[float]
    """Writing outputs, summed over tasks."""
    bytes_in: Required[int]
    """Bytes that tasks read."""
    items: Required[int]
    """Items or records that the stage had."""
    failed: Required[int]
    """Items that failed."""
    steals: Required[int]
    """Tasks that a worker took from another's run."""
    backups: Required[int]
    """Tasks that were run a second time because the first took too long."""
    lost_runners: Required[int]
    """Processes that crashed, were killed, ran out of memory or time."""
    cold_starts: Required[int]
    """Workers whose environment was new."""
    requests: Required[dict[str, int]]
    """S3 requests by kind: ``get``, ``put``, ``list``."""
    peak_mb: Required[int]
    """Most memory of one worker, an upper estimate."""


class RecordDocument(TypedDict, total=False):
    """What one run was, how it was run, what it took."""

    schema: Required[int]
    """Number of this schema."""
    algorithm: Required[str]
    """Runs of one algorithm are learned from together."""
    job_id: Required[str]
    """The job, or a name made of a foreign record's content."""
    outcome: Required[Outcome]
    """How the run ended."""
    label: Required[bool]
    """Whether the runtime may be learned from: the run succeeded, and no item failed."""
    contended: bool
    """Whether workers had to wait for each other's place: then the runtime is that of a smaller scale-out."""
    runtime_s: Required[float]
    """From the job's start to its end."""
    started_at: Required[str]
    """ISO 8601."""
    finished_at: str
    """ISO 8601."""
    source: str
    """Where a record of another system was read: file and line."""
    name: str
    """The job's name."""
    kind: str
    """``map``, ``map_reduce``, ``sort``, ``bsp``, ``parameter_server``."""
    workers: Required[float]
    """Scale-out: workers, or machines, that the run was given."""
    memory_mb: float | None
    """Memory of one worker in MB (10^6 bytes for records of other systems, as Lambda counts for our own)."""
    slots: float | None
    """Cores of one worker, where memory does not say."""
    machine_type: str | None
    """Kind of machine, for records of other systems."""
    reason: str
    """Why it was run with so many workers."""
    bytes: float | None
    """Size of the input."""
    objects: int | None
    """Objects of the input."""
    items: float | None
    """Items of the input."""
    most_tasks: int
    """Pieces that the input falls into at most, which does not depend on how the job was run."""
    data: dict[str, Any]
    """What the data is like, measured from a sample of it before the job ran."""
    tasks: dict[str, int] | float | None
    """Pieces of the work, for each stage or in all."""
    rounds: int
    """Rounds of workers, more than one for each stage where 15 minutes were not enough."""
    params: Required[dict[str, Any]]
    """Parameters of the algorithm."""
    context: Required[dict[str, Any]]
    """What the user said of the data and the surroundings."""
    stages: list[StageRecord]
    """In the order in which they ran."""
    compute_s: float
    """Wall time of all stages."""
    cold_starts: int
    """Workers whose environment was new, over all stages."""
    lost_runners: int
    """Processes lost, over all stages."""
    failed: int
    """Items that failed."""
    billed_gb_s: float
    """Lambda's unit of the workers: memory in GiB, times seconds."""
    cost_usd: float
    """What the run cost, by the price list of its time."""
    cost: dict[str, float]
    """The same by service, in USD."""
    forecast: dict[str, Any] | None
    """What was expected of the choice that was taken: ``runtime_s``, ``runtime_p95_s``, ``cost_usd``, ..."""
    model: dict[str, Any] | None
    """The model that expected it: ``version``, ``family``."""
    ended: str
    """Why a job of supersteps ended."""
    supersteps: int
    """How many there were."""
    every: int
    """Which supersteps are in `history`: each first, second, fourth, ..."""
    history: list[Any]
    """The course of a job of supersteps."""
    pushes: int
    """Updates of shared parameters."""
    losses: list[Any]
    """Losses as ``[push of its shard, shard, loss]``, in order of time."""
