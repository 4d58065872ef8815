"""What the planner does for sorts: how large runs, partitions and blocks are, and the two stages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from bellwren import layout
from bellwren.control.merging import lay_out
from bellwren.control.records import reader_of
from bellwren.control.sizing import item_tasks
from bellwren.engine.capacity import runner_memory_bytes, vcpus
from bellwren.engine.stage import Output, Stage
from bellwren.errors import Fault, SpecError
from bellwren.framing import Index
from bellwren.inputs.planning import plan_chunks
from bellwren.inputs.source import InputObject
from bellwren.inputs.spec import InputSpec
from bellwren.raw import RawForm
from bellwren.spec import JobSpec
from bellwren.store import Store

Document = dict[str, Any]

LARGE_RUN_BYTES = 16 << 20
"""Runs of large inputs have as much; of small ones less, so that every runner has some to do."""
READ_BYTES = 128 << 10
"""What a merge task reads of one run on average, at least: with less, requests cost more than bytes."""
MEMORY_SHARE = 8
"""A run or a partition of lines or values may have this part of a runner's memory: short ones take many times their
bytes as Python objects."""
_NUMBER_BYTES = 144
COPIES = 3
"""What the supervisor holds beside a runner: input of the next task, output of this one, and output on its way."""
SMALLEST_SHARE_BYTES = 1 << 20
SLACK = 1.2
TASKS_PER_SLOT = 4
MAX_PARTITIONS = 20_000
LARGEST_BLOCK_BYTES = 256 << 10
SMALLEST_BLOCK_BYTES = 16 << 10


@dataclass(frozen=True)
class SortSizes:
    """How a sort is cut."""

    run_bytes: int
    """What goes into one run, at most."""
    partition_bytes: int
    """What comes out of one merge task, about."""


def block_share(record_bytes: int) -> float:
    """The same for blocks, whose size is known: their bytes twice and, where no NumPy is installed, some 144 bytes for
    the number of each, its place and what it is sorted by; and a quarter of it all to spare."""
    return 1.25 * (2 + _NUMBER_BYTES / record_bytes)


def sort_sizes(total_bytes: int, slots: int, memory_mb: int, share: float = MEMORY_SHARE) -> SortSizes:
    """How large runs and partitions should be; a runner takes ``share`` times their bytes, the supervisor ``COPIES``.

    W runs and R partitions cost W·R ranged reads, so with the data their size grows too: by the square root, which
    keeps each read at ``READ_BYTES`` or more, even where that leaves workers without a task.
    """
    most = int(runner_memory_bytes(memory_mb) / (share + COPIES))
    fair = max(SMALLEST_SHARE_BYTES, -(-total_bytes // (slots * TASKS_PER_SLOT)))
    size = min(most, max(isqrt(total_bytes * READ_BYTES), min(fair, LARGE_RUN_BYTES)))
    return SortSizes(size, size)


def partition_count(run_bytes: int, slots: int, sizes: SortSizes) -> int:
    """Partitions for runs of ``run_bytes`` in sum: a multiple of the runners, unless there is little to do.

    They are rounded up, or where that would make them much smaller down, if they then exceed what was meant by no more
    than ``SLACK``.
    """
    wanted = max(1, round(run_bytes / sizes.partition_bytes))
    if wanted > slots:
        fewer = wanted // slots * slots
        more = -(-wanted // slots) * slots
        wanted = fewer if more > SLACK * wanted and wanted <= SLACK * fewer else more
    return min(wanted, MAX_PARTITIONS)


def block_bytes(total_bytes: int, runs: int, sizes: SortSizes, slots: int) -> int:
    """How large blocks are: so small that partitions are within a factor of two of each other (see ``boundaries``)."""
    partition = total_bytes // partition_count(total_bytes, slots, sizes)
    return max(SMALLEST_BLOCK_BYTES, min(LARGEST_BLOCK_BYTES, partition // (3 * (runs + 1))))


def sort_stage(
    job_id: str,
    spec: Document,
    profile: Document,
    shared: Document,
    *,
    workers: int,
    memory_mb: int,
    jobs: Store,
) -> Stage:
    """The first stage, with its table of tasks written: every task makes a run."""
    slots = workers * vcpus(memory_mb)
    sizes = sort_sizes(profile["bytes"], slots, memory_mb, _share(profile))
    if "index" in profile:
        rows = item_tasks(Index.from_dict(profile["index"]), workers)
        source: Document = profile["source"]
        table, tasks, raw = {"items": rows}, len(rows), None
    else:
        source, table, tasks, raw = _cut(profile, sizes, slots)
    jobs.put_json(layout.tasks(job_id, "sort"), table)
    return Stage(
        name="sort",
        operation="sort",
        tasks=tasks,
        input=source,
        sort={
            "raw": raw.as_dict() if raw else None,
            "plain": bool(raw and raw.as_bytes and _compares_records(profile)),
            "format": spec["output"]["format"],
            "block_bytes": block_bytes(profile["bytes"], tasks, sizes, slots),
            "slots": slots,
            "partition_bytes": sizes.partition_bytes,
        },
        **shared,
    )


def merge_stage(job_id: str, before: Document, output: Output, shared: Document, jobs: Store) -> Stage:
    """The second stage: every task merges its range of keys. How many there are is known by the runs' real sizes."""
    runs = sum(entry.size for entry in jobs.list_all(layout.shuffled(job_id, "sort", before["tasks"])))
    sort = before["sort"]
    sizes = SortSizes(0, sort["partition_bytes"])
    partitions = partition_count(runs, sort["slots"], sizes) if before["tasks"] else 0
    if sort["plain"]:
        lay_out(job_id, before["tasks"], partitions, jobs)
    return Stage(
        name="merge",
        operation="merge",
        tasks=partitions,
        input={"kind": "runs", "stage": "sort", "tasks": before["tasks"]},
        output=output,
        sort=sort,
        **shared,
    )


def check_records(document: JobSpec, listed: list[list[Any]]) -> None:
    """Refuse objects that do not consist of whole records. ``listed``: key, size and ETag of each object.

    Raises:
        SpecError: naming the first of them.
    """
    if document.input is None or document.input.blocks is None:
        return
    spec = InputSpec.from_dict(document.input.to_dict())
    raw = RawForm.of(spec, document.settled_params() if document.builtin else {})
    for key, size, _ in listed:
        if raw and raw.record_bytes and size % raw.record_bytes:
            found = (
                f"s3://{spec.bucket}/{key} has {size:,} bytes, which is no multiple of {raw.record_bytes:,}"
            )
            field = "params.record_bytes" if "record_bytes" in document.params else "input.chunk"
            raise SpecError([Fault(field, found, "the size of the records, which all objects hold whole")])


def _share(profile: Document) -> float:
    """Which part of a runner's memory a run may have."""
    if "input" not in profile or not _compares_records(profile):
        return MEMORY_SHARE
    raw = RawForm.of(InputSpec.from_dict(profile["input"]), profile["params"])
    return block_share(raw.record_bytes) if raw and raw.record_bytes else MEMORY_SHARE


def _compares_records(profile: Document) -> bool:
    """Whether records are compared as they are, with no function of the user's."""
    key = profile["functions"].get("key")
    return key is None or "builtin" in key


def _cut(profile: Document, sizes: SortSizes, slots: int) -> tuple[Document, Document, int, RawForm | None]:
    """Description of the input, the table of chunks, their number, and what their records are as bytes."""
    spec = InputSpec.from_dict(profile["input"])
    as_they_are = _compares_records(profile)
    raw = RawForm.of(spec, profile["params"] if as_they_are else {})
    chunk = sizes.run_bytes
    if raw and raw.record_bytes:
        # A runner that compares the blocks itself may be given many as one.
        chunk = max(1, chunk // raw.record_bytes) * raw.record_bytes if as_they_are else raw.record_bytes
    elif spec.chunk_bytes < InputSpec.chunk_bytes:
        # Who asks for small chunks gets them. The default may be exceeded where more of it would not pay.
        chunk = min(chunk, spec.chunk_bytes)
    spec = replace(spec, chunk_bytes=chunk)
    objects = [InputObject(*row) for row in profile["listed"]]
    planned = plan_chunks(reader_of(spec), spec, objects, slots=slots, tasks_per_slot=TASKS_PER_SLOT)
    table = asyncio.run(planned)
    return {"kind": "records", "input": spec.to_dict()}, table.as_dict(), len(table), raw
