"""Who runs which task, and when a straggler gets a second runner: pure rules, no clock."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.control.sizing import TASKS_PER_WORKER
from bellwren.engine.claims import backup_due, claim_order, home_run

shapes = st.integers(1, 40).flatmap(lambda workers: st.tuples(st.just(workers), st.integers(0, 300)))


@given(shapes)
def test_home_runs_share_out_every_task_once(shape: tuple[int, int]) -> None:
    workers, tasks = shape
    runs = [home_run(worker, workers, tasks) for worker in range(workers)]
    assert [task for run in runs for task in run] == list(range(tasks))
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


@given(shapes, st.data())
def test_every_worker_would_claim_every_task_once_its_own_first(
    shape: tuple[int, int], data: st.DataObject
) -> None:
    workers, tasks = shape
    worker = data.draw(st.integers(0, workers - 1))
    order = list(claim_order(worker, workers, tasks))
    own = home_run(worker, workers, tasks)
    assert sorted(order) == list(range(tasks))
    assert order[: len(own)] == list(own)


def test_a_thief_begins_at_the_end_where_the_owner_comes_last() -> None:
    assert list(claim_order(0, 3, 9)) == [0, 1, 2, 5, 4, 3, 8, 7, 6]


@pytest.mark.parametrize(
    ("elapsed_s", "durations_s", "due"),
    [
        (100.0, [], False),
        (100.0, [1.0, 1.0], False),
        (3.1, [1.0, 1.0, 1.0], True),
        (2.9, [1.0, 1.0, 1.0], False),
        (0.9, [0.001] * 50, False),
        (1.1, [0.001] * 50, True),
        (50.0, [10.0, 10.0, 40.0], True),
    ],
)
def test_a_task_is_backed_up_when_it_takes_three_times_the_median(
    elapsed_s: float, durations_s: list[float], due: bool
) -> None:
    assert backup_due(elapsed_s, durations_s) is due


def makespan(costs: list[float], workers: int, claim_s: float = 0.0) -> float:
    """When the last task ends if each worker claims by ``claim_order``, simulated without a clock."""
    taken: set[int] = set()
    orders = [claim_order(worker, workers, len(costs)) for worker in range(workers)]
    free = [(0.0, worker) for worker in range(workers)]
    end = 0.0
    while free:
        now, worker = heapq.heappop(free)
        task = next((task for task in orders[worker] if task not in taken), None)
        if task is None:
            continue
        taken.add(task)
        done = now + claim_s + costs[task]
        end = max(end, done)
        heapq.heappush(free, (done, worker))
    assert len(taken) == len(costs)
    return end


def cut(items: list[float], workers: int) -> list[float]:
    tasks = min(len(items), workers * TASKS_PER_WORKER)
    edges = [task * len(items) // tasks for task in range(tasks + 1)]
    return [sum(items[a:b]) for a, b in itertools.pairwise(edges)]


SKEWS = {
    "one-hundredfold": lambda dice, n: dice.sample([1.0] * (n - 1) + [100.0], n),
    "rising": lambda _, n: [float(k) for k in range(1, n + 1)],
    "falling": lambda _, n: [float(k) for k in range(n, 0, -1)],
    "squares": lambda _, n: [float(k * k) for k in range(1, n + 1)],
    "random": lambda dice, n: [dice.random() for _ in range(n)],
    "heavy-tail": lambda dice, n: [dice.paretovariate(1.5) for _ in range(n)],
}


@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("workers", [2, 4, 8, 16])
def test_skewed_inputs_end_within_1_3_times_the_ideal(skew: str, workers: int) -> None:
    """On average over seeds. No schedule that does not know the costs can promise more than Graham's bound of
    ``2 - 1/workers`` for one order of the items: the costly one may come last."""
    ratios = []
    for seed in range(60):
        items = SKEWS[skew](random.Random(seed), 250 * workers)
        ideal = max(sum(items) / workers, *items)
        ratios.append(makespan(cut(items, workers), workers) / ideal)
    assert sum(ratios) / len(ratios) <= 1.3
    assert max(ratios) <= 2 - 1 / workers
