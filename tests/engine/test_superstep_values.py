"""Values of the user's in supersteps: what cannot be pickled, merged or loaded, and who sees changes."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.harness import Engine
from tests.engine.iterative import bsp
from tests.engine.superstep_programs import chatter


class OneWay:
    """Is pickled, and cannot be loaded."""

    def __reduce__(self) -> Any:
        return (int, ("no number",))


def lock_as_message(worker: Any) -> None:
    worker.send(0, threading.Lock())


def lock_as_aggregate(worker: Any) -> None:
    worker.aggregate("lock", threading.Lock(), "collect")


def lock_as_state(worker: Any) -> None:
    time.sleep(0.6)  # a checkpoint comes every second
    worker.state = threading.Lock()


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lock_as_message, "message not serialisable: _thread.lock"),
        (
            lock_as_aggregate,
            "value of an aggregate not serialisable: _thread.lock",
        ),
        (lock_as_state, "state not serialisable: _thread.lock"),
    ],
)
def test_what_cannot_be_pickled_is_named_with_partition_and_superstep(
    engine: Engine, step: Any, what: str
) -> None:
    outcome = bsp(engine, step, [None] * 2, 9, workers=2)
    assert re.match(
        rf"partition 0 failed in superstep \d: PayloadError: {what}", outcome.status["error"]["message"]
    )
    assert outcome.record["lost_runners"] == 0


def test_a_state_that_cannot_be_pickled_ends_a_relaunched_job_too(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.state = threading.Lock()

    outcome = bsp(engine, step, [None] * 2, 3, workers=2, resident=False)
    assert "failed in superstep 0: PayloadError: state not serialisable" in outcome.status["error"]["message"]


def test_a_state_that_cannot_be_loaded_again_is_named(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.state = OneWay()

    outcome = bsp(engine, step, [None] * 2, 3, workers=1, resident=False)
    message = outcome.status["error"]["message"]
    assert "partition 0 failed in superstep 1: ValueError: invalid literal for int()" in message


@pytest.mark.parametrize("supersteps", [1, 2])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (
            [(1, "sum"), (1, "max")],
            "aggregate('a') is merged by 'sum' and by 'max'; use one way for one name",
        ),
        ([("x", "sum"), (1, "sum")], "aggregate('a', how='sum') cannot merge 'x' and 1"),
    ],
)
def test_aggregates_that_cannot_be_merged_end_the_job_in_the_last_superstep_as_in_any(
    engine: Engine, values: Any, what: str, supersteps: int
) -> None:
    def step(worker: Any) -> None:
        value, how = values[worker.partition]
        worker.aggregate("a", value, how)

    outcome = bsp(engine, step, [None] * 2, supersteps, workers=2)
    assert outcome.status["status"] == "FAILED"
    assert what in outcome.status["error"]["message"]


def test_an_aggregate_whose_repr_fails_is_shown_by_its_type(engine: Engine) -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    def step(worker: Any) -> None:
        worker.aggregate("a", Silent(), "max")

    outcome = bsp(engine, step, [None], 2)
    assert "Silent" in outcome.status["aggregates"]["a"]


@pytest.mark.parametrize("workers", [1, 3])
def test_what_a_step_changes_in_aggregates_and_params_is_its_own(engine: Engine, workers: int) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 0:
            given = np.ones(2)
            worker.aggregate("sum", given)
            given[:] = 100.0  # it was aggregated as it was
            return
        worker.aggregated["sum"] += 1
        worker.params["list"].append(worker.partition)
        worker.state = (worker.aggregated["sum"].tolist(), worker.params["list"])

    outcome = bsp(engine, step, [None] * 3, 3, workers=workers, params={"list": []})
    assert outcome.status["status"] == "FAILED", "in superstep 2 there is no aggregate"
    outcome = bsp(engine, step, [None] * 3, 2, workers=workers, params={"list": []})
    assert outcome.result() == [([4.0, 4.0], [number]) for number in range(3)]


def test_a_relaunched_job_that_failed_is_resumed_in_the_superstep_that_failed(
    engine: Engine, tmp_path: Path
) -> None:
    mended = str(tmp_path / "mended")

    def step(worker: Any) -> None:
        if (worker.superstep, worker.partition) == (1, 1) and not os.path.exists(mended):
            raise ConnectionError("the other side is away")
        chatter(worker)

    states: list[list[Any]] = [[] for _ in range(3)]
    first = bsp(engine, step, states, 3, workers=2, resident=False)
    assert first.failures == {1: ("ConnectionError", "the other side is away")}
    open(mended, "w").close()
    resumed = engine.execute({"resume": first.job_id}, f"{first.job_id}-resumed")
    assert resumed.result() == bsp(engine, chatter, states, 3, workers=2).result()
