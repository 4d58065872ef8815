"""What a step function sees and does: one partition in one superstep."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from bellwren.engine.supersteps import aggregates
from bellwren.payload.results import dumps_named, dumps_result

Combine = Callable[[Hashable, Iterable[Any]], Any]

_UNCHANGEABLE = (int, float, complex, bool, str, bytes, type(None))


class Worker:
    """One partition in one superstep, as the step function gets it.

    >>> def step(worker):
    ...     worker.state += sum(worker.messages)
    ...     worker.send((worker.partition + 1) % worker.partitions, 1)
    """

    def __init__(
        self,
        *,
        partition: int,
        partitions: int,
        superstep: int,
        state: Any,
        messages: list[Any],
        aggregated: Mapping[str, Any],
        params: Mapping[str, Any],
        combine: Combine | None = None,
    ) -> None:
        self.partition = partition
        """Number of this partition, from 0."""
        self.partitions = partitions
        """How many there are."""
        self.superstep = superstep
        """Number of this superstep, from 0."""
        self.state = state
        """The partition's state; what it is at the end of the step is what the next superstep finds."""
        self.messages = messages
        """What was sent here in the superstep before, by sender and in the order of sending."""
        self.aggregated = aggregated
        """Aggregates of the superstep before, by name; empty in the first."""
        self.params = params
        """Parameters of the job."""
        self._combine = combine
        self._halted = False
        self._partial: aggregates.Partial = {}
        self._sent: dict[int, list[Any]] = {}

    def __repr__(self) -> str:
        return f"partition {self.partition} in superstep {self.superstep}"

    def send(self, to: int, message: Any) -> None:
        """Send a message to a partition, which may be this one; it arrives in the next superstep, as it is now.

        Raises:
            ValueError: if there is no such partition.
            PayloadError: if the message cannot be pickled.
        """
        if isinstance(to, bool) or not hasattr(to, "__index__") or not 0 <= to < self.partitions:
            raise ValueError(
                f"send(to={to!r}): to must be the number of a partition, 0 to {self.partitions - 1}"
            )
        kept = self._sent.setdefault(int(to), [])
        if self._combine is None:
            kept.append(dumps_named(message, "message"))
        else:
            kept.append(_as_it_is(message, "message"))

    def aggregate(self, name: str, value: Any, how: str = "sum") -> None:
        """Add a value, as it is now, to an aggregate; all partitions find it in ``aggregated`` in the next superstep.

        ``how``: ``sum``, ``min``, ``max``, ``all``, ``any``, or ``collect``, which makes a list in order of partitions.

        Raises:
            ValueError: if ``how`` is none of these, or another than before for this name.
            PayloadError: if the value cannot be pickled.
        """
        aggregates.add(self._partial, name, _as_it_is(value, "value of an aggregate"), how)

    def vote_to_halt(self) -> None:
        """Be called no more until a message comes. When all have halted and no message is under way, the job ends."""
        self._halted = True

    def outcome(self) -> Outcome:
        """What the step did, as bytes: nothing that the step does later can change it."""
        sent = {}
        for to, messages in sorted(self._sent.items()):
            pickled = (
                messages
                if self._combine is None
                else [dumps_named(self._combine(to, messages), "combined message")]
            )
            sent[to] = (len(pickled), b"".join(pickled))
        return Outcome(self.state, self._halted, sent, dumps_result(self._partial))


class Outcome:
    """What one step left behind."""

    def __init__(self, state: Any, halted: bool, sent: dict[int, tuple[int, bytes]], partial: bytes) -> None:
        self.state = state
        self.halted = halted
        self.sent = sent
        """For each partition written to: number of messages, and their pickles one after the other."""
        self.partial = partial
        """Pickled aggregates of this partition."""


def _as_it_is(value: Any, what: str) -> Any:
    """The value, or a copy where it could be changed later."""
    return value if type(value) in _UNCHANGEABLE else pickle.loads(dumps_named(value, what))  # noqa: S301  just made


def read_messages(count: int, data: bytes) -> list[Any]:
    """The messages of one sender to one partition, each unpickled by itself."""
    stream = io.BytesIO(data)
    return [pickle.load(stream) for _ in range(count)]  # noqa: S301  the job's own
