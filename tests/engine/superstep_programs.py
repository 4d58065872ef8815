"""Step functions that keep everything they see, in a module of their own: workers import no more than this."""

from __future__ import annotations

from typing import Any


def chatter(worker: Any) -> None:
    """Every message and aggregate is kept, so one that came twice, or not at all, would show."""
    worker.state = [*worker.state, (tuple(worker.messages), worker.aggregated.get("sum"))]
    for to in range(worker.partitions):
        worker.send(to, (worker.superstep, worker.partition))
    worker.aggregate("sum", 1)


def gossip(worker: Any) -> None:
    """Everything that a step can see goes into the state, so any difference shows."""
    seen = (worker.superstep, list(worker.messages), sorted(worker.aggregated.items()))
    worker.state = [*worker.state, seen]
    for number in range(worker.superstep + 1):
        to = (worker.partition + number + 1) % worker.partitions
        worker.send(to, (worker.partition, worker.superstep, number))
    worker.aggregate("total", worker.partition + 0.1)
    worker.aggregate("most", len(worker.messages), "max")
