"""What a runner does with one task: map it, shuffle it, or reduce it. Bytes in, results out.

Every operation notes the position that it is at before it calls user code, and sends results in order of position, so
that a runner's death costs one position and the next runner goes on behind what had arrived.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, islice, pairwise
from typing import Any

from bellwren.algorithms.functions import Functions
from bellwren.engine import shuffle
from bellwren.engine.calls import Caller
from bellwren.engine.channel import Channel, Paused
from bellwren.engine.failed import FailedItem
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.framing import Frame, Kind, read_span
from bellwren.parts import Format, encode_result
from bellwren.payload.codecs import Codec, decode
from bellwren.payload.failure import decode_failure, failure_frame
from bellwren.payload.results import result_frame

_TOGETHER = 256
_EXCEPTION_LIMIT_BYTES = 1 << 16
"""A larger exception stays in the result part; what is reported goes through documents that people read."""


@dataclass(frozen=True)
class Task:
    """One task as the supervisor sent it."""

    job_id: str
    stage: Stage
    head: dict[str, Any]
    body: memoryview
    pull: Callable[[int], memoryview]
    """Asks the supervisor for the next bytes of a segment of what is streamed."""

    @property
    def format(self) -> Format:
        """How results are written; where the stage writes none, how they would be."""
        return self.stage.output.format if self.stage.output else "pickle"

    @cached_property
    def caller(self) -> Caller:
        """Calls the user's functions."""
        codec: Codec = "json" if self.format == "jsonl" else "pickle"
        # Records are counted within their task, so it is the task that keeps their random numbers apart.
        apart = "" if self.head["kind"] == "items" else f":{self.stage.name}:{self.head['task']}"
        return Caller(self.job_id + apart, codec, self.stage.retries, self.stage.retry_on)

    @cached_property
    def start(self) -> int:
        """Positions whose results have arrived from an earlier runner."""
        return int(self.head["start"])

    @cached_property
    def skip(self) -> dict[int, dict[str, Any]]:
        """Positions that lost too many runners, and what became of them."""
        return {int(position): verdict for position, verdict in self.head["skip"].items()}

    @cached_property
    def first(self) -> int:
        """Index in the whole input of the task's first position; 0 where only its own is known."""
        return int(self.head.get("first", 0))

    @property
    def base(self) -> memoryview:
        """The shuffle object of the positions before ``start``, if an earlier worker had got that far."""
        return self.body[len(self.body) - self.head.get("base", 0) :]

    def inputs(self, *, apart: bool = False) -> Iterator[Callable[[], Any]]:
        """For each item or record, in order, a function that gives it: an item may fail to load.

        ``apart``: a bad row of a table is a ``FailedItem``, for ``call``; else it is an error of the task.
        """
        if self.head["kind"] == "items":
            frames = read_span(self.body, self.head["count"], skip=self.head["leave"], name="the job's items")
            return (_reader(frame, self.head["codec"]) for frame in frames)
        if self.head["kind"] == "results":
            from bellwren.engine import earlier  # noqa: PLC0415  few jobs read another's results

            return earlier.read(self.stage.input, self.head, self.body)
        from bellwren.engine import records  # noqa: PLC0415  the parsers, which jobs over items do not need

        if apart:
            return records.read_apart(self.stage.input, self.head, self.body, self.pull)
        return map(_constant, records.read(self.stage.input, self.head, self.body, self.pull))

    def call(self, function: Callable[[Any], Any], read: Callable[[], Any], position: int) -> Frame:
        """The frame of one position."""
        index = self.first + position
        if verdict := self.skip.get(position):
            return failure_frame(TaskFailure(index=index, **verdict))
        if isinstance(read, FailedItem):
            return read.frame(index)
        return self.caller.call(function, read, index=index)


def run_map(task: Task, functions: Functions, channel: Channel) -> None:
    """Call the map function on each item or record; its result takes the item's place."""
    assert functions.map is not None
    call = _shaping(task, functions.map)
    for position, read in enumerate(task.inputs(apart=True)):
        if position < task.start:
            continue
        channel.at(position)
        if functions.flat:
            _emit_many(task, channel, position, functions.map, read)
        else:
            _emit(task, channel, task.call(call, read, position))
    channel.done()


def run_shuffle(task: Task, functions: Functions, channel: Channel) -> None:
    """Map each record to pairs, group them by key, and write the groups side by side by partition.

    Nothing leaves before the end, so after a loss the whole task runs again, without the record that caused it. Where
    it has to pause, the object of what there is goes out, and the next runner builds on it.
    """
    assert functions.map is not None
    groups = shuffle.Grouper(functions.combine)
    failures: list[dict[str, Any]] = []
    before = groups.load(task.base, task.stage.partitions) if task.base else {"failures": []}
    end: dict[str, Any] = {}
    if (count := _at_once(task, functions, groups, channel)) is None:
        count = 0
        into_groups = _grouping(functions.map, groups)
        try:
            for position, read in enumerate(task.inputs(apart=True)):
                if position < task.start:
                    continue
                channel.at(position)
                made = task.call(into_groups, read, position)
                if made.kind is Kind.FAILURE:
                    failures.append(told(made))
                count += 1
                groups.shrink()
        except Paused as paused:
            end = {"paused": paused.position}
    note = {"items": task.start + count, "failures": before["failures"] + failures}
    body = groups.object(task.stage.partitions, note, tasks=task.stage.tasks)
    channel.done({"shuffled": True, "consumed": count, "count": count, "failures": failures, **end}, body)


def _at_once(task: Task, functions: Functions, groups: shuffle.Grouper, channel: Channel) -> int | None:
    """Have a built-in algorithm take all records of the task together, if it can; returns how many there were."""
    count = 0
    if task.start or task.skip:
        return None
    if functions.count_text and task.head.get("plain_text"):
        from bellwren.engine import records  # noqa: PLC0415  as above

        channel.at(0)
        for text in records.plain_texts(task.head, task.body):
            groups.add_totals(functions.count_text(text))
            count += records.line_count(text)
        return count
    if functions.whole is None:
        return None

    def counted() -> Iterator[Any]:
        nonlocal count
        for read in task.inputs():
            count += 1
            yield read()

    channel.at(0)
    groups.add(functions.whole(counted()))
    return count


def run_reduce(task: Task, functions: Functions, channel: Channel) -> None:
    """Merge the partition's segments and call the reduce function once for each key."""
    assert functions.reduce is not None
    as_pair = _pairing(functions.reduce, task.format)
    groups = islice(_groups(task), task.start, None)
    if functions.sure and not task.skip:
        _reduce_together(task, channel, map(as_pair, groups))
    else:
        for position, group in enumerate(groups, task.start):
            channel.at(position)
            _emit(task, channel, task.call(as_pair, _constant(group), position))
    channel.done()


def _reduce_together(task: Task, channel: Channel, pairs: Iterator[Any]) -> None:
    position = task.start
    while True:
        channel.at(position)
        made = [
            encode_result(task.format, result_frame(pair, task.caller.codec, index=position + number))
            for number, pair in enumerate(islice(pairs, channel.free_run(position, _TOGETHER)))
        ]
        if not made:
            return
        channel.results(b"".join(made), len(made))
        position += len(made)


def run_supersteps(task: Task, functions: Functions, channel: Channel) -> None:
    """Hold a group of partitions, and do one superstep of it at a time."""
    from bellwren.engine.supersteps import holding  # noqa: PLC0415  other jobs need none of it

    holding.run(task, functions, channel)


def run_sort(task: Task, functions: Functions, channel: Channel) -> None:
    """Make a sorted run of the task's records."""
    from bellwren.engine.sorting import operations  # noqa: PLC0415  other jobs need none of it

    operations.run_sort(task, functions, channel)


def run_merge(task: Task, functions: Functions, channel: Channel) -> None:
    """Take the task's range of keys out of all runs, in order."""
    from bellwren.engine.sorting import operations  # noqa: PLC0415  as above

    operations.run_merge(task, functions, channel)


Operation = Callable[[Task, Functions, Channel], None]


def run_train(task: Task, functions: Functions, channel: Channel) -> None:
    """Train on shards, with parameters that all share."""
    from bellwren.engine.training import trainer  # noqa: PLC0415  other jobs need none of it

    trainer.run_train(task, functions, channel)


def run_gather(task: Task, functions: Functions, channel: Channel) -> None:
    """Make the shared parameters the result."""
    from bellwren.engine.training import trainer  # noqa: PLC0415  as above

    trainer.run_gather(task, functions, channel)


OPERATIONS: dict[str, Operation] = {
    "map": run_map,
    "shuffle": run_shuffle,
    "reduce": run_reduce,
    "sort": run_sort,
    "merge": run_merge,
    "supersteps": run_supersteps,
    "train": run_train,
    "gather": run_gather,
}


def load_ahead(stage: str) -> None:
    """Import what supervisor and runners of a stage of that name need, where they are forked from: once for all."""
    if stage in ("sort", "merge"):
        from bellwren.engine.sorting import operations, source  # noqa: F401, PLC0415  as above


def operation_of(stage: Stage) -> Operation:
    """What a runner does with the tasks of a stage."""
    operation = OPERATIONS[stage.operation]
    if stage.output is None or stage.output.format != "parquet":
        return operation
    from bellwren.engine import tables  # noqa: PLC0415  pyarrow's part

    return partial(tables.run, operation)


def _reader(frame: Frame, codec: Codec) -> Callable[[], Any]:
    return lambda: decode(frame, codec)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _emit(task: Task, channel: Channel, made: Frame) -> None:
    channel.result(encode_result(task.format, made), told(made) if made.kind is Kind.FAILURE else None)


def _emit_many(
    task: Task, channel: Channel, position: int, function: Callable[[Any], Any], read: Callable[[], Any]
) -> None:
    """Each of what the function gives is a result of its own."""
    made: list[Frame] = []
    shape = _in_a_row if task.format == "parquet" else _same

    def each(value: Any) -> None:
        made.extend(task.caller.call(shape, _constant(one), index=position) for one in function(value))

    outcome = task.call(each, read, position)
    if outcome.kind is Kind.FAILURE:
        _emit(task, channel, outcome)
    else:
        channel.result(b"".join(encode_result(task.format, one) for one in made), results=len(made))


def _same(value: Any) -> Any:
    return value


def _in_a_row(value: Any) -> dict[str, Any]:
    return {"value": value}


def told(made: Frame, *, whole: bool = True) -> dict[str, Any]:
    """A failure as it is reported; ``whole``: with the exception itself, for the client to raise again."""
    failure, exception = decode_failure(made.data)
    if not whole or len(exception) > _EXCEPTION_LIMIT_BYTES:
        return failure.as_dict()
    return {**failure.as_dict(), "exception": base64.b64encode(exception).decode()}


def _shaping(task: Task, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The map function, checked where its results must be rows."""
    if task.format != "parquet":
        return function
    from bellwren.engine.tables import as_row  # noqa: PLC0415  pyarrow's part

    return lambda value: as_row(function(value))


def _grouping(function: Callable[[Any], Any], groups: shuffle.Grouper) -> Callable[[Any], None]:
    return lambda record: groups.add(function(record))


def _pairing(function: Callable[[Any, Any], Any], format_: Format) -> Callable[[Any], Any]:
    if format_ in ("jsonl", "parquet"):
        return lambda group: {"key": group[0], "value": function(*group)}
    return lambda group: (group[0], function(*group))


def _groups(task: Task) -> Iterator[tuple[Hashable, Iterator[Any]]]:
    """Each key of the partition with its values."""
    sizes = task.head.get("sizes")
    if sizes is None:
        segments = [_pulled(number, task.pull) for number in range(task.head["segments"])]
        return shuffle.groups(shuffle.merge(segments))
    ends = accumulate(sizes, initial=0)
    return shuffle.groups_at_hand(task.body[start:end] for start, end in pairwise(ends))


def _pulled(number: int, pull: Callable[[int], memoryview]) -> Iterator[shuffle.Entry]:
    while blocks := pull(number):
        yield from shuffle.decode_segment(blocks)
