"""The runner's side: what a train function sees, and the end at which the slices become the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bellwren.algorithms.functions import Functions
from bellwren.engine.channel import Channel
from bellwren.engine.operations import Task, told
from bellwren.engine.training import values
from bellwren.engine.training.parameters import Parameters, Shared
from bellwren.framing import Frame, Kind
from bellwren.parts import encode_result


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
        """``pull()``, ``push(update, loss=None)`` and ``resume()``."""
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
    """The parameters at the end are the job's result."""
    if task.start == 0:
        channel.at(0)
        _emit(task, channel, task.call(lambda _: _gathered(task, channel), lambda: None, 0))
    channel.done()


def _gathered(task: Task, channel: Channel) -> dict[str, Any]:
    shared = Shared(channel, bounded=task.stage.supersteps["staleness"] is not None)
    document = {"pushes": values.pushes(shared.slices), "losses": values.course(shared.slices)}
    channel.consult({"ask": "end", "document": document})
    given = values.plain(values.joined(shared.slices))
    if task.format == "jsonl":
        return {name: value if isinstance(value, float) else value.tolist() for name, value in given.items()}
    return given


def _emit(task: Task, channel: Channel, made: Frame) -> None:
    channel.result(encode_result(task.format, made), told(made) if made.kind is Kind.FAILURE else None)
