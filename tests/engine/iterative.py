"""Jobs of supersteps on the bare S3, and a reference that runs them in this process."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from bellwren import spec
from bellwren.engine.supersteps import aggregates
from bellwren.engine.supersteps.program import Worker, read_messages
from bellwren.options import Options
from bellwren.submission import make_document
from tests.engine.harness import RUNNING, Engine, Outcome


def bsp(
    engine: Engine,
    step: Callable[[Any], None],
    states: Any,
    max_supersteps: int = 50,
    combine: Any = None,
    *,
    resident: bool = True,
    **options: Any,
) -> Outcome:
    """``cloud.bsp`` without a cloud."""
    running = {name: options.pop(name) for name in RUNNING if name in options}
    cloud: Any = SimpleNamespace(jobs_store=engine.store)
    document = make_document(
        "bsp",
        {"step": step, "combine": combine},
        states,
        Options.of(options),
        cloud,
        max_supersteps=max_supersteps,
        resident=resident,
    )
    name = f"job-{uuid.uuid4().hex[:12]}"
    return engine.execute({"spec": spec.from_dict(document).to_dict()}, name, **running)


def reference(
    step: Callable[[Any], None], states: list[Any], max_supersteps: int, combine: Any = None
) -> tuple[list[Any], int]:
    """Pregel's semantics in their plainest form: the final states, and how many supersteps it took."""
    states = list(states)
    count = len(states)
    halted = [False] * count
    inbox: list[list[Any]] = [[] for _ in states]
    aggregated: dict[str, Any] = {}
    for superstep in range(max_supersteps):
        outbox: list[list[Any]] = [[] for _ in states]
        partials = []
        for number in range(count):
            if halted[number] and not inbox[number]:
                continue
            worker = Worker(
                partition=number,
                partitions=count,
                superstep=superstep,
                state=states[number],
                messages=inbox[number],
                aggregated=aggregated,
                params={},
                combine=combine,
            )
            step(worker)
            outcome = worker.outcome()
            states[number], halted[number] = outcome.state, outcome.halted
            partials.append(worker._partial)
            for to, (sent, data) in outcome.sent.items():
                outbox[to] += read_messages(sent, data)
        inbox, aggregated = outbox, aggregates.merge(partials)
        if all(halted) and not any(inbox):
            return states, superstep + 1
    return states, max_supersteps
