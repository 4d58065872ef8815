"""Hundreds of random fault schedules: each job must have the right result, or the right failures, and end.

Every fourth job is one of supersteps.

``CHAOS_SEED`` sets the first seed, ``CHAOS_COUNT`` how many; a failure names its seed, and that seed alone repeats it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from tests.chaos.running import run
from tests.chaos.schedule import Schedule
from tests.chaos.supersteps import SuperstepSchedule, run_supersteps
from tests.engine.harness import Engine
from tests.engine.proxy import Proxy
from tests.engine.server import Server

FIRST = int(os.environ.get("CHAOS_SEED", "1000"))
COUNT = int(os.environ.get("CHAOS_COUNT", "300"))
LANES = 3


@pytest.fixture
def lanes(server: Server, engine: Engine, proxy: Proxy) -> Iterator[Queue[tuple[Engine, Proxy]]]:
    """Engines to run schedules on at the same time: much of each is waiting."""
    lanes: Queue[tuple[Engine, Proxy]] = Queue()
    lanes.put((engine, proxy))
    opened = []
    for _ in range(LANES - 1):
        opened.append(Proxy(server.port))
        lanes.put((Engine(server, opened[-1]), opened[-1]))
    yield lanes
    while not lanes.empty():
        lanes.get()[0].close()
    for one in opened:
        one.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_schedule_of_faults_makes_a_job_wrong_or_endless(
    lanes: Queue[tuple[Engine, Proxy]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def one(seed: int) -> tuple[int, int, str]:
        steps = SuperstepSchedule.drawn(seed) if seed % 4 == 0 else None
        schedule = steps or Schedule.drawn(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        lane = lanes.get()
        lost, wrong = 0, ""
        try:
            lost = run_supersteps(*lane, steps, folder) if steps else run(*lane, schedule, folder)
        except AssertionError as error:
            wrong = f"{schedule}\n    {str(error)[:500]}"
        finally:
            lanes.put(lane)
        return sum(fault.hits for fault in schedule.faults), lost, wrong

    began = time.monotonic()
    hits = lost = 0
    wrong: list[str] = []
    with ThreadPoolExecutor(LANES) as threads:
        for number, (struck, ended, fault) in enumerate(threads.map(one, range(FIRST, FIRST + COUNT)), 1):
            hits, lost = hits + struck, lost + ended
            wrong += [fault] if fault else []
            if number % 25 == 0 or number == COUNT:
                with capsys.disabled():
                    print(
                        f"\n  seeds {FIRST} to {FIRST + number - 1}: {hits} faults struck, {lost} invocations lost, "
                        f"{len(wrong)} wrong, none hung ({time.monotonic() - began:.0f} s)",
                        end="",
                    )
    assert hits > COUNT / 2
    assert not wrong, "\n".join(wrong)
