"""Supersteps, as whole jobs: what a step sees, how a job ends, and that no loss changes a result.

Reported faults of group H: H01 and H02 are graphs of test_pagerank.py ("sink", "chain"), and H02 is also
test_a_partition_that_gets_no_message_is_run_until_it_halts; H04 is test_a_state_may_be_larger_than_any_payload, and
test_old_supersteps_are_deleted_behind_the_checkpoints of test_superstep_losses.py; H05 and H06 are in
test_parameter_server.py, H09 in test_superstep_losses.py.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import Engine
from tests.engine.iterative import bsp, reference
from tests.engine.superstep_programs import gossip


def test_every_partition_sees_what_the_reference_sees(engine: Engine) -> None:
    outcome = bsp(engine, gossip, [[] for _ in range(5)], 5, workers=3)
    assert outcome.result() == reference(gossip, [[] for _ in range(5)], 5)[0]
    assert (outcome.status["ended"], outcome.status["supersteps"]) == ("max_supersteps", 5)


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
def test_the_number_of_workers_changes_nothing(engine: Engine, workers: int) -> None:
    outcome = bsp(engine, gossip, [[] for _ in range(4)], 4, workers=workers)
    assert outcome.result() == reference(gossip, [[] for _ in range(4)], 4)[0]


def test_two_runners_of_one_worker_hold_partitions_each(engine: Engine) -> None:
    outcome = bsp(engine, gossip, [[] for _ in range(5)], 4, workers=1, memory_mb=3538)
    assert outcome.result() == reference(gossip, [[] for _ in range(5)], 4)[0]
    assert outcome.plan["stages"]["supersteps"]["tasks"] == 2


def test_the_job_ends_when_all_have_halted_and_no_message_is_under_way(engine: Engine) -> None:
    def relay(worker: Any) -> None:
        # Partition 3 has halted long before the message comes round to it.
        if worker.superstep == 0 and worker.partition == 0:
            worker.send(1, 1)
        for hops in worker.messages:
            worker.state = hops
            if worker.partition + 1 < worker.partitions:
                worker.send(worker.partition + 1, hops + 1)
        worker.vote_to_halt()

    outcome = bsp(engine, relay, [0, 0, 0, 0], 50, workers=2)
    assert outcome.result() == [0, 1, 2, 3]
    assert (outcome.status["ended"], outcome.status["supersteps"]) == ("halted", 4)


def test_a_partition_that_gets_no_message_is_run_until_it_halts(engine: Engine) -> None:
    def count(worker: Any) -> None:
        worker.state += 1

    assert bsp(engine, count, [0, 10, 20], 6, workers=2).result() == [6, 16, 26]


def test_a_message_is_what_it_was_when_it_was_sent(engine: Engine) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 0:
            message = [1]
            worker.send(worker.partition, message)
            message.append(2)
        else:
            worker.state = worker.messages
            worker.vote_to_halt()

    assert bsp(engine, step, [None, None], workers=1).result() == [[[1]], [[1]]]


def test_combine_makes_one_message_of_those_from_one_sender(engine: Engine) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 0:
            for number in range(10):
                worker.send(number % 2, number)
        else:
            worker.state = worker.messages
            worker.vote_to_halt()

    outcome = bsp(engine, step, [None, None], combine=lambda to, messages: sum(messages), workers=2)
    assert outcome.result() == [[20, 20], [25, 25]]


def test_keys_and_tuples_of_a_state_stay_what_they_are(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.state = {**worker.state, 1: worker.state.get(1, 0) + 1, "t": (2, 3)}

    assert bsp(engine, step, [{1: 0}], 3).result() == [{1: 3, "t": (2, 3)}]


def test_a_state_may_be_larger_than_any_payload(engine: Engine) -> None:
    def grow(worker: Any) -> None:
        worker.state += b"x" * 100_000

    assert [len(state) for state in bsp(engine, grow, [b""] * 4, 8, workers=2).result()] == [800_000] * 4


def test_a_large_message_is_read_in_parts(engine: Engine) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 0:
            for to in range(worker.partitions):
                worker.send(to, bytes([worker.partition]) * 700_000)
        else:
            worker.state = [(len(one), one[0]) for one in worker.messages]
            worker.vote_to_halt()

    outcome = bsp(engine, step, [None] * 3, workers=3)
    assert outcome.result() == [[(700_000, sender) for sender in range(3)]] * 3


def test_no_partitions_are_no_supersteps(engine: Engine) -> None:
    assert bsp(engine, gossip, [], 3).result() == []


def test_aggregates_that_json_does_not_have_are_in_the_status_as_text(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.aggregate("loss", float("nan"))
        worker.state = {"loss": float("nan")}

    outcome = bsp(engine, step, [1], 3)
    (state,) = outcome.result()
    assert state["loss"] != state["loss"]
    assert outcome.status["aggregates"] == {"loss": "nan"}


def test_each_superstep_stands_in_the_record_with_its_aggregates(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.aggregate("sum", worker.superstep)

    outcome = bsp(engine, step, [None] * 3, 4, workers=2)
    history = outcome.record["history"]
    assert [(one["superstep"], one["aggregates"]) for one in history] == [
        (number, {"sum": 3 * number}) for number in range(4)
    ]


def test_each_partition_has_its_own_random_numbers_and_a_second_run_of_the_step_the_same(
    engine: Engine, tmp_path: Path
) -> None:
    drawn = str(tmp_path / "drawn")

    def step(worker: Any) -> None:
        worker.state = [*worker.state, random.random()]
        with open(drawn, "a") as file:
            file.write(f"{worker.superstep} {worker.partition} {worker.state[-1]}\n")
        mark = f"{drawn}-{worker.partition}"
        if worker.superstep == 1 and not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)

    first, second = bsp(engine, step, [[], []], 3, workers=2).result()
    assert len({*first, *second}) == 6
    lines = Path(drawn).read_text().splitlines()
    assert len(lines) > 6, "supersteps were done again"
    assert len(set(lines)) == 6


# -- failures ---------------------------------------------------------------------------------------------------------


def test_an_exception_ends_the_job_and_names_partition_and_superstep(engine: Engine) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 2 and worker.partition == 1:
            raise KeyError("lost")

    outcome = bsp(engine, step, [None] * 3, workers=3)
    assert outcome.status["status"] == "FAILED"
    assert outcome.status["error"]["type"] == "TaskError"
    assert "partition 1 failed in superstep 2: KeyError: 'lost'" in outcome.status["error"]["message"]
    assert outcome.failures == {1: ("KeyError", "'lost'")}


def test_a_message_to_nobody_is_refused(engine: Engine) -> None:
    outcome = bsp(engine, lambda worker: worker.send(4, "x"), [None] * 4, workers=2)
    assert "to must be the number of a partition, 0 to 3" in outcome.status["error"]["message"]


def test_a_step_that_returns_something_is_told_where_states_go(engine: Engine) -> None:
    outcome = bsp(engine, lambda worker: worker.state + 1, [0])
    assert "assigned to worker.state" in outcome.status["error"]["message"]


def test_a_step_that_always_kills_its_runner_ends_the_job(engine: Engine) -> None:
    def step(worker: Any) -> None:
        if worker.superstep == 1 and worker.partition == 2:
            os._exit(3)

    outcome = bsp(engine, step, [None] * 3, 5, workers=2, retries=1)
    assert outcome.failures == {2: ("WorkerDied", "the runner exited with code 3 (2 tries)")}


def test_a_step_that_takes_too_long_is_timed_out(engine: Engine) -> None:
    def step(worker: Any) -> None:
        import time

        time.sleep(60 if worker.partition == 1 else 0)

    outcome = bsp(engine, step, [None] * 2, 2, workers=1, retries=0, item_timeout_s=0.5)
    assert outcome.failures[1][0] == "TimedOut"


def test_a_user_exception_named_in_retry_on_is_tried_again_on_the_state_as_it_was(engine: Engine) -> None:
    def step(worker: Any) -> None:
        worker.state.append(worker.superstep)
        mark = f"tried-{worker.partition}-{worker.superstep}"
        if not os.path.exists(mark):
            open(mark, "w").close()
            raise TimeoutError

    assert bsp(engine, step, [[]], 3, retry_on=["TimeoutError"]).result() == [[0, 1, 2]]
