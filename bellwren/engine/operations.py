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
from bellwren.engine import calls, shuffle
from bellwren.engine.channel import Channel
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.framing import Frame, Kind, read_span
from bellwren.payload.codecs import Codec, decode
from bellwren.payload.failure import decode_failure, failure_frame
from bellwren.payload.results import Format, encode_result


@dataclass(frozen=True)
class Task:
    """One task as the supervisor sent it."""

    stage: Stage
    head: dict[str, Any]
    body: memoryview
    seed: str
    """From which each item's random numbers start: the job and the stage."""

    @property
    def format(self) -> Format:
        """How results are written; where the stage writes none, how they would be."""
        return self.stage.output.format if self.stage.output else "pickle"

    @property
    def codec(self) -> Codec:
        """How one result becomes bytes."""
        return "json" if self.format == "jsonl" else "pickle"

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
            frames = read_span(self.body, self.head["count"], skip=self.head["leave"], name="the job's items")
            return (decode(frame, self.head["codec"]) for frame in frames)
        from bellwren.inputs.records import read_records  # noqa: PLC0415  jobs over items need no parsers

        return read_records(self.stage.input, self.head, self.body)

    def lost(self, position: int) -> TaskFailure | None:
        """The failure that stands for a position that is not to be tried again."""
        verdict = self.skip.get(position)
        return None if verdict is None else TaskFailure(index=self.first + position, **verdict)


def run_map(task: Task, functions: Functions, channel: Channel) -> None:
    """Call the map function on each item or record; its result takes the item's place."""
    assert functions.map is not None
    for position, item in enumerate(task.inputs()):
        if position < task.start:
            continue
        channel.at(position)
        if functions.flat:
            _emit_many(task, channel, position, functions.map, item)
        else:
            _emit(task, channel, position, _attempt(task, functions.map, (item,), position, item))
    channel.done()


def run_shuffle(task: Task, functions: Functions, channel: Channel) -> None:
    """Map each record to pairs, group them by key, and write the groups side by side by partition.

    Nothing leaves before the end, so after a loss the whole task runs again, without the record that caused it.
    """
    assert functions.map is not None
    groups = shuffle.Grouper(functions.combine)
    failures: list[dict[str, Any]] = []
    count = 0
    if functions.count_text and task.head.get("plain_text"):
        channel.at(0)
        groups.add_totals(functions.count_text(bytes(task.body)))
    else:
        into_groups = _grouping(functions.map, groups)
        for position, record in enumerate(task.inputs()):
            channel.at(position)
            made = _attempt(task, into_groups, (record,), position, record)
            if made.kind is Kind.FAILURE:
                failures.append(_told(made))
            count += 1
    body = groups.object(task.stage.partitions, {"items": count, "failures": failures})
    channel.done({"shuffled": True, "consumed": count, "count": count, "failures": failures}, body)


def run_reduce(task: Task, functions: Functions, channel: Channel) -> None:
    """Merge the partition's segments and call the reduce function once for each key."""
    assert functions.reduce is not None
    as_pair = _pairing(functions.reduce, task.format)
    for position, (key, values) in enumerate(shuffle.groups(_entries(task, channel))):
        if position < task.start:
            continue
        channel.at(position)
        _emit(task, channel, position, _attempt(task, as_pair, (key, values), position, key))
    channel.done()


OPERATIONS: dict[str, Callable[[Task, Functions, Channel], None]] = {
    "map": run_map,
    "shuffle": run_shuffle,
    "reduce": run_reduce,
}


def _attempt(
    task: Task, function: Callable[..., Any], args: tuple[Any, ...], position: int, item: Any
) -> Frame:
    if lost := task.lost(position):
        return failure_frame(lost)
    return calls.call(function, args, index=task.first + position, codec=task.codec)


def _emit(task: Task, channel: Channel, position: int, made: Frame) -> None:
    channel.result(encode_result(task.format, made), _told(made) if made.kind is Kind.FAILURE else None)


def _emit_many(task: Task, channel: Channel, position: int, function: Callable[..., Any], item: Any) -> None:
    """Each of what the function gives is a result of its own."""
    made: list[Frame] = []

    def each(value: Any) -> None:
        made.extend(
            calls.call(lambda one: one, (one,), index=position, codec=task.codec) for one in function(value)
        )

    outcome = _attempt(task, each, (item,), position, item)
    if outcome.kind is Kind.FAILURE:
        _emit(task, channel, position, outcome)
    else:
        encoded = b"".join(encode_result(task.format, one) for one in made)
        channel.result(encoded, results=len(made))


def _told(made: Frame) -> dict[str, Any]:
    return decode_failure(made.data)[0].as_dict()


def _grouping(function: Callable[[Any], Any], groups: shuffle.Grouper) -> Callable[[Any], None]:
    return lambda record: groups.add(function(record))


def _pairing(function: Callable[[Any, Any], Any], format_: Format) -> Callable[[Any, Any], Any]:
    if format_ == "jsonl":
        return lambda key, values: {"key": key, "value": function(key, values)}
    return lambda key, values: (key, function(key, values))


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
