"""The runner's side: what a train function sees, and the end at which the log becomes the result."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

from bellwren.algorithms.functions import Functions
from bellwren.engine.channel import Channel
from bellwren.engine.operations import Task, told
from bellwren.engine.training.values import Values, encode_update, entries
from bellwren.framing import Frame, Kind
from bellwren.parts import encode_result

SNAPSHOT_EVERY = 64
"""Entries of the log between two snapshots."""


class Parameters:
    """The parameters, as one shard reads and changes them."""

    def __init__(self, channel: Channel, shard: int, staleness: int | None) -> None:
        self._channel = channel
        self._shard = shard
        self._staleness = staleness
        self._lock = threading.Lock()
        head, data = channel.consult({"ask": "open"})
        self._values = Values.opened(head, bytes(data))
        self._catch_up()
        self._number = 0

    @property
    def pushed(self) -> int:
        """Updates of this shard that are in: more than 0 at the start only where an earlier try had got so far."""
        return self._values.pushed.get(self._shard, 0)

    def pull(self) -> dict[str, Any]:
        """The parameters with every update that is in by now: arrays by name, numbers where they have no dimensions."""
        with self._lock:
            self._catch_up()
            return self._values.given()

    def push(self, update: Mapping[str, Any], loss: float | None = None) -> bool:
        """Add to parameters, by name.

        Args:
            update: for each parameter that changes, what is added to it.
            loss: noted in the job's history.

        Returns:
            False if more than ``staleness`` updates came in since the last ``pull``; nothing was added then: pull, and
            compute it anew. Always True where staleness has no bound.

        Raises:
            ValueError: for a name or a shape that is not among the parameters.
            FloatingPointError: if the update is not finite; shard and step are named.
        """
        with self._lock:
            checked = self._values.check(update, f"shard {self._shard}, step {self._number},")
            if self._number < self.pushed:
                # An earlier try of this shard had pushed it.
                self._number += 1
                return True
            told = None if loss is None or not math.isfinite(loss) else float(loss)
            data = encode_update(self._shard, self._number, told, checked)
            order = {"ask": "append", "from": self._values.length, "staleness": self._staleness}
            answer, _ = self._channel.consult(order, data)
            if answer["place"] is None:
                return False
            self._number += 1
            if (answer["place"] + 1) % SNAPSHOT_EVERY == 0:
                self._keep(answer["place"] + 1)
            return True

    def _catch_up(self) -> None:
        _, data = self._channel.consult({"ask": "read", "from": self._values.length})
        for entry in entries(data):
            self._values.apply(entry)

    def _keep(self, length: int) -> None:
        """Write a snapshot, so that whoever starts later reads less. What is not finite is never kept."""
        self._catch_up()
        self._channel.consult({"ask": "keep", "length": self._values.length}, self._values.snapshot())


class Trainer:
    """What a train function gets: its shard, and the parameters."""

    def __init__(
        self, shard: Any, index: int, shards: int, parameters: Parameters, params: Mapping[str, Any]
    ) -> None:
        self.shard = shard
        """The shard's data."""
        self.index = index
        """Number of the shard, from 0."""
        self.shards = shards
        """How many there are."""
        self.parameters = parameters
        """``pull()`` and ``push(update, loss=None)``."""
        self.params = params
        """Parameters of the job."""

    def __repr__(self) -> str:
        return f"shard {self.index}"


def run_train(task: Task, functions: Functions, channel: Channel) -> None:
    """Train on each shard of the task."""
    options = task.stage.supersteps
    records = task.head["kind"] == "records"
    inputs = [lambda: [read() for read in task.inputs()]] if records else list(task.inputs())
    first = task.head["task"] if records else task.first
    for position, read in enumerate(inputs):
        if position < task.start:
            continue
        channel.at(position)
        index = first + position

        def train(shard: Any, index: int = index) -> Any:
            assert functions.train is not None
            parameters = Parameters(channel, index, options["staleness"])
            return functions.train(Trainer(shard, index, options["shards"], parameters, task.stage.params))

        _emit(task, channel, task.call(train, read, position))
    channel.done()


def run_gather(task: Task, functions: Functions, channel: Channel) -> None:
    """The parameters at the end of the log are the job's result."""
    if task.start == 0:
        channel.at(0)
        _emit(task, channel, task.call(lambda _: _gathered(task, channel), lambda: None, 0))
    channel.done()


def _gathered(task: Task, channel: Channel) -> dict[str, Any]:
    head, data = channel.consult({"ask": "open"})
    values = Values.opened(head, bytes(data))
    _, data = channel.consult({"ask": "read", "from": values.length})
    for entry in entries(data):
        values.apply(entry)
    document = {"pushes": sum(values.pushed.values()), "losses": values.losses}
    channel.consult({"ask": "end", "document": document})
    given = values.given()
    if task.format == "jsonl":
        return {name: value if isinstance(value, float) else value.tolist() for name, value in given.items()}
    return given


def _emit(task: Task, channel: Channel, made: Frame) -> None:
    channel.result(encode_result(task.format, made), told(made) if made.kind is Kind.FAILURE else None)
