"""A few of the random fault schedules of ``make chaos``, in every test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.running import run
from tests.chaos.schedule import Schedule
from tests.chaos.supersteps import SuperstepSchedule, run_supersteps
from tests.engine.harness import Engine
from tests.engine.proxy import Proxy


@pytest.mark.parametrize("seed", range(25))
def test_a_random_schedule_of_faults_changes_no_result(
    engine: Engine, proxy: Proxy, tmp_path: Path, seed: int
) -> None:
    run(engine, proxy, Schedule.drawn(seed), tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_schedule_of_faults_changes_no_superstep(
    engine: Engine, proxy: Proxy, tmp_path: Path, seed: int
) -> None:
    run_supersteps(engine, proxy, SuperstepSchedule.drawn(seed), tmp_path)
