"""The simulator of large jobs: what must hold whatever its numbers are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.simulate import LOCAL, RAISED, Limits, Work, simulate

CALM = {"spread": 0.0, "straggling": 0.0}
FREE = replace(LOCAL, concurrency=10_000, request_s=1e-9)


@pytest.mark.parametrize("workers", [1, 10, 1000])
def test_without_limits_a_map_takes_its_compute_spread_over_its_workers(workers: int) -> None:
    found = simulate(Work("map", workers, **CALM), FREE)
    assert found.seconds == pytest.approx(found.ideal_s, rel=1e-3)
    assert found.first == ""


def test_the_same_seed_gives_the_same_job() -> None:
    assert simulate(Work("map", 50), Limits(), seed=7) == simulate(Work("map", 50), Limits(), seed=7)


def test_workers_beyond_the_concurrency_never_run_and_the_others_do_their_tasks() -> None:
    found = simulate(Work("map", 3_000, tasks=12_000, **CALM), Limits())
    assert found.ran == 1_000
    assert found.seconds > 12_000 / 1_000
    assert simulate(Work("map", 3_000, tasks=12_000, **CALM), RAISED).seconds < found.seconds


@pytest.mark.parametrize(
    ("work", "limits", "first"),
    [
        (
            Work("map", 1_000, task_s=60.0, **CALM),
            replace(RAISED, children_burst=0, children_per_s=1),
            "starts of",
        ),
        (Work("map", 1_000, task_s=60.0, **CALM), replace(RAISED, environments_burst=10), "environments"),
        (Work("map", 200, task_s=0.01, **CALM), replace(RAISED, writes_per_s=100), "S3: writes"),
        (Work("shuffle", 200, **CALM), replace(RAISED, reads_per_s=500), "S3: "),
        (Work("bsp", 500, **CALM), replace(RAISED, reads_at_once=1, writes_per_s=1e6), "gathers"),
        (Work("map", 100, **CALM), replace(RAISED, concurrency=10), "concurrency"),
    ],
)
def test_the_limit_that_is_short_is_the_one_that_is_named(work: Work, limits: Limits, first: str) -> None:
    assert first in simulate(work, limits).first


def test_backups_shorten_a_map_with_stragglers_and_a_superstep_has_none() -> None:
    slow = {"spread": 0.0, "straggling": 1.0, "task_s": 2.0}
    assert simulate(Work("map", 1, tasks=1, **slow), FREE).seconds == pytest.approx(8.0)
    assert simulate(Work("bsp", 1, supersteps=1, **slow), FREE).seconds == pytest.approx(20.0)


def test_a_reduce_reads_from_every_map_task_so_requests_grow_with_the_square() -> None:
    few, many = (simulate(Work("shuffle", workers, **CALM), FREE).requests for workers in (10, 100))
    assert 50 < many / few < 100


def test_what_idle_workers_ask_for_grows_with_the_workers_and_stays_small_beside_their_compute() -> None:
    for workers in (100, 1_000, 10_000):
        found = simulate(Work("map", workers), RAISED)
        # Of workers with a vCPU, from the first one's start to the end of the stage.
        compute_usd = workers * found.seconds * 1769 / 1024 * 0.0000133334
        assert 0 < found.idle_usd < 0.6 * compute_usd
    assert found.idle_usd < 2.5
