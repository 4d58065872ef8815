"""Which idle workers look for what others have not done, and how often."""

from __future__ import annotations

import pytest

from bellwren.control.sizing import MAX_TASKS, TASKS_PER_WORKER
from bellwren.engine.idle import lists_of_a_look, looks, poll_s

SIZES = [(workers, min(MAX_TASKS, workers * TASKS_PER_WORKER)) for workers in (1, 10, 100, 1_000, 10_000)]


@pytest.mark.parametrize(("workers", "tasks"), [*SIZES, (10_000, 3), (10_000, 1_000_000)])
def test_together_they_ask_no_more_than_s3_answers_and_somebody_always_looks(
    workers: int, tasks: int
) -> None:
    looking = sum(looks(worker, workers, tasks) for worker in range(workers))
    assert looking >= 1
    lists_per_s = looking * lists_of_a_look(tasks) / poll_s(workers, tasks)
    assert lists_per_s <= 5_500 or looking == 1


@pytest.mark.parametrize(("workers", "tasks"), SIZES[:3])
def test_in_a_job_of_a_hundred_workers_all_look(workers: int, tasks: int) -> None:
    assert all(looks(worker, workers, tasks) for worker in range(workers))
    assert poll_s(workers, tasks) < 0.5


def test_a_small_job_is_looked_after_as_often_as_ever() -> None:
    assert poll_s(8, 128) == 0.25
    assert poll_s(10_000, 20_000) == 1.0


def test_those_that_look_are_spread_over_the_workers() -> None:
    looking = [worker for worker in range(10_000) if looks(worker, 10_000, 20_000)]
    assert looking == list(range(0, 10_000, 100))
