"""What a runner does with one task: map it, shuffle it, or reduce it. Bytes in, results out.

Every operation notes the position that it is at before it calls user code, and sends results in order of position, so
that a runner's death costs one position and the next runner goes on behind what had arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bellwren.algorithms.functions import Functions
from bellwren.engine import shuffle
from bellwren.engine.channel import Channel
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.framing import decode_items, encoder
from bellwren.payload.outcome import Attempt, attempt


@dataclass(frozen=True)
class Task:
    """One task as the supervisor sent it."""

    stage: Stage
    head: dict[str, Any]
    body: memoryview
    seed: str
    """From which each item's random numbers start: the job and the stage."""

    @property
    def start(self) -> int:
        """Positions whose results have arrived from an earlier runner."""
        return int(self.head["start"])

    @cached_property
    def skip(self) -> dict[int, dict[str, Any]]:
        """Positions that lost too many runners, and what became of them."""
        return {int(position): verdict for position, verdict in self.head["skip"].items()}

    @property
    def first(self) -> int:
        """Index in the whole input of the task's first position; 0 where only its own is known."""
        return int(self.head.get("first", 0))

    def inputs(self) -> Iterator[Any]:
        """The items or records of the task, in order."""
        if self.head["kind"] == "items":
            return decode_items(self.body, self.head["codec"])
        from bellwren.inputs.records import read_records  # noqa: PLC0415  jobs over items need no parsers

        return read_records(self.stage.input, self.head, self.body)

    def lost(self, position: int) -> TaskFailure | None:
        """The failure that stands for a position that is not to be tried again."""
        verdict = self.skip.get(position)
        return None if verdict is None else TaskFailure(index=self.first + position, **verdict)


def run_map(task: Task, functions: Functions, channel: Channel) -> None:
    """Call the map function on each item or record; its result takes the item's place."""
    assert functions.map is not None
    assert task.stage.output is not None
    encode = encoder(task.stage.output.format)
    for position, item in enumerate(task.inputs()):
        if position < task.start:
            continue
        channel.at(position)
        made = _attempt(task, functions.map, (item,), position, item)
        if functions.flat and made.failure is None:
            _emit_many(channel, encode, list(made.value))
        else:
            _emit(channel, encode, made, task.first + position)
    channel.done()


def run_shuffle(task: Task, functions: Functions, channel: Channel) -> None:
    """Map each record to pairs, group them by key, and write the groups side by side by partition.

    Nothing leaves before the end, so after a loss the whole task runs again, without the record that caused it.
    """
    assert functions.map is not None
    groups = shuffle.Grouper(functions.combine)
    failures: list[TaskFailure] = []
    count = 0
    if functions.count_text and task.head.get("plain_text"):
        channel.at(0)
        groups.add_totals(functions.count_text(bytes(task.body)))
    else:
        for position, record in enumerate(task.inputs()):
            channel.at(position)
            made = _attempt(task, _pairs(functions.map, groups), (record,), position, record)
            if made.failure:
                failures.append(made.failure)
            count += 1
    note = {"items": count, "failures": [failure.as_dict() for failure in failures]}
    body = groups.object(task.stage.partitions, note)
    channel.done({"shuffled": True, "consumed": count, "count": count, "failures": note["failures"]}, body)


def run_reduce(task: Task, functions: Functions, channel: Channel) -> None:
    """Merge the partition's segments and call the reduce function once for each key."""
    assert functions.reduce is not None
    assert task.stage.output is not None
    encode = encoder(task.stage.output.format)
    for position, (key, values) in enumerate(shuffle.groups(_entries(task, channel))):
        if position < task.start:
            continue
        channel.at(position)
        made = _attempt(task, _keyed(functions.reduce, key), (values,), position, key)
        _emit(channel, encode, made, position)
    channel.done()


OPERATIONS: dict[str, Callable[[Task, Functions, Channel], None]] = {
    "map": run_map,
    "shuffle": run_shuffle,
    "reduce": run_reduce,
}


def _attempt(
    task: Task, function: Callable[..., Any], args: tuple[Any, ...], position: int, item: Any
) -> Attempt:
    if lost := task.lost(position):
        return Attempt(failure=lost)
    index = task.first + position
    seed = f"{task.seed}:{task.head['task']}:{index}"
    return attempt(
        function,
        args,
        index=index,
        item=item,
        seed=seed,
        retry_on=task.stage.retry_on,
        retries=task.stage.retries,
    )


def _pairs(function: Callable[[Any], Any], groups: shuffle.Grouper) -> Callable[[Any], None]:
    def call(record: Any) -> None:
        groups.add(function(record))

    return call


def _keyed(function: Callable[[Any, Any], Any], key: Any) -> Callable[[Any], tuple[Any, Any]]:
    def call(values: Any) -> tuple[Any, Any]:
        return key, function(key, values)

    return call


def _entries(task: Task, channel: Channel) -> Iterator[shuffle.Entry]:
    sizes = task.head.get("sizes")
    if sizes is None:
        return shuffle.merge([_pulled(number, channel) for number in range(task.head["segments"])])
    entries: list[shuffle.Entry] = []
    start = 0
    for size in sizes:
        entries += shuffle.decode_segment(task.body[start : start + size])
        start += size
    # Sorting what is in memory anyway beats a merge, and is as stable.
    entries.sort(key=shuffle.by_hash)
    return iter(entries)


def _pulled(number: int, channel: Channel) -> Iterator[shuffle.Entry]:
    while blocks := channel.pull(number):
        yield from shuffle.decode_segment(blocks)
