"""What a runner does with one task of a sort: make a run of a chunk, or merge its range of keys out of all runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from bellwren.algorithms.functions import Functions
from bellwren.engine.channel import Channel, Paused
from bellwren.engine.operations import Task, told
from bellwren.engine.sorting import keyed, plain
from bellwren.engine.sorting.partition import Laid, Piece, lay_out, pieces
from bellwren.engine.sorting.reading import batch_of, form_of
from bellwren.engine.sorting.runs import HEAD_BYTES, Index, note, spans
from bellwren.errors import InputError
from bellwren.framing import Kind
from bellwren.parts import Format, encode_result
from bellwren.payload.codecs import Codec
from bellwren.payload.results import result_frame
from bellwren.raw import RawForm

_BATCH_BYTES = 1 << 20
"""About what goes to the supervisor at once."""


def run_sort(task: Task, functions: Functions, channel: Channel) -> None:
    """Make a sorted run of the task's records.

    Nothing leaves before the end, so after a loss the whole task runs again, without the record that caused it.
    """
    if task.stage.sort["plain"]:
        _sort_bytes(task, channel)
    else:
        _sort_by_key(task, functions, channel)


def run_merge(task: Task, functions: Functions, channel: Channel) -> None:
    """Take the task's range of keys out of all runs, in order."""
    del functions  # loaded with their modules, which the keys may need
    _refuse_if_lost(task)
    channel.at(task.start)
    if task.stage.sort["plain"]:
        _merge_bytes(task, channel)
    else:
        _merge_by_key(task, channel)
    channel.done()


def _merge_by_key(task: Task, channel: Channel) -> None:
    """Only here, where the keys can be loaded, can be said which bytes of the runs are needed."""
    laid = _laid_out(task, channel)
    number = int(task.head["task"])
    wanted = pieces(laid.cuts, number)
    ranges = [(piece.run, piece.start, piece.end) for piece in wanted]
    fetched = zip(wanted, channel.ask({"ranges": ranges}), strict=True) if wanted else ()
    low = laid.limits[number - 1] if number else None
    high = laid.limits[number] if number < len(laid.limits) else None
    _emit(task, channel, keyed.merged((low, high), fetched), b"".join)


_laid: dict[str, Laid] = {}
"""What the runner knows of its job's runs: a runner serves one stage of one job."""


def _laid_out(task: Task, channel: Channel) -> Laid:
    if task.job_id not in _laid:
        runs = int(task.stage.input["tasks"])

        def indexes(some: range) -> Iterator[Index]:
            return map(Index.from_bytes, channel.ask({"indexes": list(some)}))

        _laid[task.job_id] = lay_out(indexes, runs, task.stage.tasks)
    return _laid[task.job_id]


def _sort_bytes(task: Task, channel: Channel) -> None:
    _refuse_if_lost(task)
    channel.at(0)
    raw = RawForm(**task.stage.sort["raw"])
    form = form_of(raw)
    run, count = plain.sorted_run(form, batch_of(task, raw), task.stage.sort["block_bytes"])
    channel.done({"shuffled": True, "consumed": count, "count": count, "failures": []}, *run)


def _sort_by_key(task: Task, functions: Functions, channel: Channel) -> None:
    sorter = keyed.Sorter()
    failures: list[dict[str, Any]] = []
    before = _resume(task, sorter)
    add = _adding(task, functions.key, sorter)
    end: dict[str, Any] = {}
    count = 0
    try:
        for position, read in enumerate(task.inputs(apart=True)):
            if position < task.start:
                continue
            channel.at(position)
            made = task.call(add(task.first + position), read, position)
            if made.kind is Kind.FAILURE:
                failures.append(told(made))
            count += 1
    except Paused as paused:
        end = {"paused": paused.position}
    noted = {"items": task.start + count, "failures": before + failures}
    run = sorter.run(task.stage.sort["block_bytes"], noted)
    channel.done({"shuffled": True, "consumed": count, "count": count, "failures": failures, **end}, *run)


def _resume(task: Task, sorter: keyed.Sorter) -> list[dict[str, Any]]:
    """Begin with the run of the positions before ``start``, if there is one; returns the failures among them."""
    if not task.base:
        return []
    _, blocks = spans(task.base[:HEAD_BYTES])
    sorter.load(task.base[slice(*blocks)])
    found: list[dict[str, Any]] = note(task.base)["failures"]
    return found


def _adding(
    task: Task, key: Callable[[Any], Any] | None, sorter: keyed.Sorter
) -> Callable[[int], Callable[[Any], None]]:
    """For the index of a record what takes it: all of it or, if its key or its encoding fails, nothing."""
    encode = _encoder(task)

    def at(index: int) -> Callable[[Any], None]:
        return lambda value: sorter.add(key(value) if key else value, encode(value, index))

    return at


def _encoder(task: Task) -> Callable[[Any, int], bytes]:
    """How a record stands in the result."""
    format_: Format = task.stage.sort["format"]
    if format_ == "raw":
        raw = RawForm(**task.stage.sort["raw"])
        return lambda value, _: raw.encode(value)
    codec: Codec = "json" if format_ == "jsonl" else "pickle"
    return lambda value, index: encode_result(format_, result_frame(value, codec, index=index))


def _merge_bytes(task: Task, channel: Channel) -> None:
    """The supervisor has said which bytes are needed, and may have them already."""
    wanted = [Piece(*one) for one in task.head["pieces"]]
    ranges = [(piece.run, piece.start, piece.end) for piece in wanted]
    fetched = zip(wanted, channel.ask({"ranges": ranges}), strict=True) if wanted else ()
    low, high = (one and (bytes.fromhex(one[0]), one[1]) for one in task.head["limits"])
    raw = RawForm(**task.stage.sort["raw"])
    form = form_of(raw)
    records = plain.merged(form, (low, high), fetched)
    if task.stage.sort["format"] == "raw":
        _emit(task, channel, records, form.join)
        return
    encode = _encoder(task)
    _emit(
        task,
        channel,
        records,
        lambda batch: b"".join(encode(raw.value(form.value_bytes(record)), 0) for record in batch),
    )


def _emit(
    task: Task, channel: Channel, records: Sequence[Any], join: Callable[[Any], bytes | memoryview]
) -> None:
    """Send the records from ``start`` on."""
    for start, end in _batches(records, task.start):
        channel.at(start)
        channel.results(join(records[start:end]), end - start)


def _batches(records: Sequence[Any], start: int) -> Iterator[tuple[int, int]]:
    if not records:
        return
    sample = range(0, len(records), max(1, len(records) // 1000))
    mean = max(1, sum(len(records[at]) for at in sample) // len(sample))
    step = max(1, _BATCH_BYTES // mean)
    for at in range(start, len(records), step):
        yield at, min(at + step, len(records))


def _refuse_if_lost(task: Task) -> None:
    """Where no single record is to blame, too many lost runners end the job."""
    for verdict in task.skip.values():
        _refuse(f"task {task.head['task']} of stage {task.stage.name!r}: {verdict['message']}")


def _refuse(why: str) -> NoReturn:
    raise InputError(why)
