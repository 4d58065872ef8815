"""Run a schedule and judge what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bellwren import layout
from bellwren.errors import TaskFailure
from tests.chaos.schedule import Schedule
from tests.engine.harness import Engine
from tests.engine.proxy import Proxy


def run(engine: Engine, proxy: Proxy, schedule: Schedule, folder: Path) -> int:
    """Run the job of the schedule; returns how many invocations were lost.

    Raises:
        AssertionError: if its result, its failures or its counts are not the right ones.
    """
    item = schedule.job(folder)
    options: dict[str, Any] = {
        "workers": schedule.workers,
        "retries": schedule.retries,
        "tolerate": 1.0,
        "item_timeout_s": 1.0,
        "memory_mb": schedule.memory_mb,
        "timeout_s": schedule.timeout_s,
        "launch": schedule.launched,
        "skew_s": schedule.skew_s,
    }
    with proxy.disturbed_by(*schedule.faults):
        if schedule.kind == "map":
            outcome = engine.map(item, range(schedule.items), **options)
        else:
            outcome = engine.map_reduce(
                item, range(schedule.items), lambda _, values: list(values), **options
            )
    expected, failures = schedule.expected()
    found = outcome.result()
    if schedule.kind == "map":
        found = [None if isinstance(one, TaskFailure) else one for one in found]
    assert found == expected
    assert {index: kind for index, (kind, _) in outcome.failures.items()} == failures
    assert outcome.record["stages"][0]["items"] == schedule.items
    assert outcome.record["failed"] == len(failures)
    assert not list(engine.store.list(layout.work(outcome.job_id)))
    return outcome.lost
