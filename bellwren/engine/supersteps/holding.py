"""The runner's side: a group of partitions whose states stay in this process from one superstep to the next."""

from __future__ import annotations

import base64
import copy
import io
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bellwren.algorithms.functions import Functions
from bellwren.engine.calls import Caller
from bellwren.engine.channel import Channel
from bellwren.engine.operations import Task
from bellwren.engine.stage import Stage
from bellwren.engine.supersteps import aggregates, placing
from bellwren.engine.supersteps.program import Outcome, Worker, read_messages
from bellwren.errors import PayloadError
from bellwren.framing import Frame, Kind
from bellwren.parts import encode_result
from bellwren.payload.codecs import PROTOCOL
from bellwren.payload.failure import decode_failure
from bellwren.payload.results import dumps_named, dumps_result, result_frame

_EXCEPTION_LIMIT_BYTES = 1 << 16
_held: dict[int, Group] = {}
"""The groups of this process by number: it lives for one job in one invocation."""


@dataclass
class Partition:
    """One partition between supersteps."""

    state: Any = None
    halted: bool = False
    broken: Frame | None = None
    """Why its state could not be loaded."""


@dataclass
class Sent:
    """What a group leaves behind in one superstep."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    messages: int = 0
    sections: dict[int, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    """For each group written to: (partition, number of messages, their pickles)."""
    partials: list[bytes] = field(default_factory=list)


class Group:
    """Some neighbouring partitions."""

    def __init__(self, number: int, partitions: list[Partition], job_id: str, stage: Stage) -> None:
        options = stage.supersteps
        self._total: int = options["partitions"]
        self._groups: int = stage.tasks
        self._first = placing.members(number, self._groups, self._total).start
        self._partitions = partitions
        self._job_id = job_id
        self._stage = stage
        self.aggregated: dict[str, Any] = {}
        self._pickled_aggregates = b""

    def step(
        self,
        superstep: int,
        inbox: Inbox,
        partials: Iterable[bytes],
        functions: Functions,
        at: Callable[[int], None],
    ) -> Sent:
        """Run one superstep of every partition that is awake. ``at`` is told the partition before each call."""
        sent = Sent()
        try:
            self.aggregated = _merged(partials)
            self._pickled_aggregates = dumps_result(self.aggregated)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  the user's values, merged in the user's way
            sent.failures.append(_told(_failed(self._first, error)))
            return sent
        for offset, partition in enumerate(self._partitions):
            number = self._first + offset
            if number not in inbox and partition.halted:
                continue
            at(number)
            made, outcome = self._call(number, partition, superstep, inbox, functions)
            if outcome is None:
                sent.failures.append(_told(made))
                continue
            partition.state, partition.halted = outcome.state, outcome.halted
            self._route(outcome, sent)
        return sent

    @property
    def active(self) -> int:
        """Partitions that have not halted."""
        return sum(not partition.halted for partition in self._partitions)

    def save(self) -> tuple[list[bytes], list[dict[str, Any]]]:
        """The states, to go on from elsewhere, in pieces; or why some of them cannot be pickled."""
        states, failures = [], []
        for offset, one in enumerate(self._partitions):
            try:
                states.append(dumps_named(one.state, "state"))
            except PayloadError as error:
                failures.append(_told(_failed(self._first + offset, error)))
        if failures:
            return [], failures
        table = [(len(state), one.halted) for state, one in zip(states, self._partitions, strict=True)]
        return [pickle.dumps(table, PROTOCOL), *states], []

    def results(self, present: Callable[[Any], Any] | None) -> tuple[list[bytes], list[dict[str, Any]]]:
        """The final states as they stand in a part, and the failures among them."""
        codec: Any = "json" if self._format == "jsonl" else "pickle"
        frames = []
        for offset, partition in enumerate(self._partitions):
            index = self._first + offset
            try:
                value = present(partition.state) if present else partition.state
                frames.append(result_frame(value, codec, index=index))
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001  a state that cannot be written is that partition's failure
                frames.append(_failed(index, error))
        told = [_told(frame) for frame in frames if frame.kind is Kind.FAILURE]
        return [encode_result(self._format, frame) for frame in frames], told

    @property
    def _format(self) -> Any:
        assert self._stage.output is not None
        return self._stage.output.format

    def _call(
        self, number: int, partition: Partition, superstep: int, inbox: Inbox, functions: Functions
    ) -> tuple[Frame, Outcome | None]:
        if partition.broken is not None:
            return partition.broken, None
        # The seed is made of the job, the superstep and the partition.
        caller = Caller(f"{self._job_id}:{superstep}", "pickle", self._stage.retries, self._stage.retry_on)
        try:
            before = dumps_named(partition.state, "state") if self._stage.retry_on else b""
        except PayloadError as error:
            return _failed(number, error), None
        tries = 0
        outcome: Outcome | None = None

        def read() -> Worker:
            nonlocal tries
            tries += 1
            return Worker(
                partition=number,
                partitions=self._total,
                superstep=superstep,
                # A try that failed may have changed the state.
                state=partition.state if tries == 1 else pickle.loads(before),  # noqa: S301
                messages=inbox.messages(number),
                # Copies: what a step changes in them is nobody else's.
                aggregated=pickle.loads(self._pickled_aggregates),  # noqa: S301  made in `step`
                params=copy.deepcopy(self._stage.params),
                combine=functions.combine,
            )

        def run(worker: Worker) -> None:
            nonlocal outcome
            assert functions.step is not None
            if functions.step(worker) is not None:
                raise TypeError("a step returns nothing: what is to stay is assigned to worker.state")
            outcome = worker.outcome()

        return caller.call(run, read, index=number), outcome

    def _route(self, outcome: Outcome, sent: Sent) -> None:
        sent.partials.append(outcome.partial)
        for to, (count, data) in outcome.sent.items():
            sent.messages += count
            target = placing.group_of(to, self._groups, self._total)
            sent.sections.setdefault(target, []).append((to, count, data))


class Inbox:
    """The messages to the partitions of one group; unpickled for each when it is its turn."""

    def __init__(self, sections: Iterable[bytes]) -> None:
        """``sections`` are in order of the senders' groups, and each is in order of its senders."""
        self._for: dict[int, list[tuple[int, bytes]]] = {}
        for section in sections:
            for to, count, data in pickle.loads(section) if section else ():  # noqa: S301  written by `encode`
                self._for.setdefault(to, []).append((count, data))

    def __contains__(self, partition: int) -> bool:
        return partition in self._for

    def messages(self, partition: int) -> list[Any]:
        """By sender, and in the order of sending."""
        return [one for count, data in self._for.get(partition, ()) for one in read_messages(count, data)]


def run(task: Task, functions: Functions, channel: Channel) -> None:
    """One order of the supervisor: ``load`` a group, make a ``step``, ``save`` it, or give its ``result``."""
    {"load": _load, "step": _step, "save": _save, "result": _result}[task.head["do"]](
        task, functions, channel
    )


def _load(task: Task, functions: Functions, channel: Channel) -> None:
    number, total = task.head["task"], task.stage.supersteps["partitions"]
    if task.head.get("checkpoint"):
        partitions = _saved(io.BytesIO(task.body), placing.members(number, task.stage.tasks, total).start)
    elif task.head["kind"] == "records":
        partitions = [Partition([read() for read in task.inputs()])]
    else:
        partitions = [_loaded(read, task.first + place) for place, read in enumerate(task.inputs())]
    _held[number] = Group(number, partitions, task.job_id, task.stage)
    channel.done()


def _saved(stream: io.BytesIO, first: int) -> list[Partition]:
    """What ``Group.save`` wrote."""
    partitions = []
    for offset, (size, halted) in enumerate(pickle.load(stream)):  # noqa: S301  the job's own
        state = stream.read(size)
        partitions.append(_loaded(partial(pickle.loads, state), first + offset, halted=halted))
    return partitions


def _loaded(read: Callable[[], Any], index: int, *, halted: bool = False) -> Partition:
    try:
        return Partition(read(), halted)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  unpickling runs the user's code
        return Partition(halted=halted, broken=_failed(index, error))


def _step(task: Task, functions: Functions, channel: Channel) -> None:
    group, head = _held[task.head["task"]], task.head
    began = time.monotonic()
    cut = _cut(task.body, [*head["sections"], *head["partials"]])
    sections = [next(cut) for _ in head["sections"]]
    sent = group.step(head["superstep"], Inbox(sections), cut, functions, channel.mark)
    body = [dumps_result(sent.sections[to]) for to in sorted(sent.sections)]
    compute_s = time.monotonic() - began
    states: list[bytes] = []
    save_s = 0.0
    if head["save"] and not sent.failures:
        began = time.monotonic()
        states, sent.failures = group.save()
        save_s = time.monotonic() - began
    answer = {
        "active": group.active,
        "sent": sent.messages,
        "failures": sent.failures,
        "to": sorted(sent.sections),
        "sizes": [len(one) for one in body],
        "aggregated": aggregates.shown(group.aggregated),
        "compute_s": round(compute_s, 6),
        "save_s": save_s,
    }
    body.append(dumps_result(sent.partials))
    answer["partials"] = len(body[-1])
    channel.done(answer, *body, *states)


def _save(task: Task, functions: Functions, channel: Channel) -> None:
    states, failures = _held[task.head["task"]].save()
    channel.done({"failures": failures}, *states)


def _result(task: Task, functions: Functions, channel: Channel) -> None:
    group, head = _held[task.head["task"]], task.head
    encoded, failures = group.results(functions.present)
    answer = {"failures": failures, "aggregated": {}, "count": len(encoded), "unmerged": []}
    try:
        answer["aggregated"] = aggregates.shown(_merged(_cut(task.body, head["partials"])))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  as in `Group.step`
        answer["unmerged"] = [_told(_failed(0, error))]
    channel.done(answer, *encoded)


def _merged(partials: Iterable[bytes]) -> dict[str, Any]:
    """The aggregates of all partitions, from what each group gave, in order of the groups."""
    return aggregates.merge(pickle.loads(one) for data in partials for one in pickle.loads(data))  # noqa: S301


def _cut(body: memoryview, sizes: Iterable[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield bytes(body[start : start + size])
        start += size


def _failed(index: int, error: BaseException) -> Frame:
    from bellwren.payload import outcome  # noqa: PLC0415

    return outcome.failed(error, index=index)


def _told(frame: Frame) -> dict[str, Any]:
    """A failure as it is reported, with the exception itself if that is small, for the client to raise again."""
    failure, exception = decode_failure(frame.data)
    if len(exception) > _EXCEPTION_LIMIT_BYTES:
        return failure.as_dict()
    return {**failure.as_dict(), "exception": base64.b64encode(exception).decode()}
