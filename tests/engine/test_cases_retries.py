"""Reported faults of retries, duplicates and stragglers (group D), as whole jobs. D02 is in test_faults.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bellwren.current import item_id
from tests.engine.harness import Engine
from tests.engine.proxy import Fault, Proxy

PART = r"/results/part-"


def test_d04_a_worker_that_fails_after_its_success_is_run_again_and_its_items_keep_their_names(
    engine: Engine, proxy: Proxy, tmp_path: Path
) -> None:
    def item(x: int) -> int:
        with open(tmp_path / "log", "a") as file:
            file.write(f"{x} {item_id()}\n")
        return x

    after = Fault("late-kill", PART, method="PUT", skip=2)
    before = Fault("kill", PART, method="PUT", skip=12)
    with proxy.disturbed_by(after, before):
        outcome = engine.map(item, range(20), workers=1)
    assert outcome.result() == list(range(20))
    assert outcome.lost == 2
    ran = Counter((tmp_path / "log").read_text().splitlines())
    names: dict[str, set[str]] = {}
    for line in ran:
        x, name = line.split()
        names.setdefault(x, set()).add(name)
    assert max(ran.values()) > 1, "side effects are at least once"
    assert names == {str(x): {f"{outcome.job_id}:{x}"} for x in range(20)}


def test_d05_throttling_loses_nothing_and_costs_no_try_of_an_item(engine: Engine, proxy: Proxy) -> None:
    with proxy.disturbed_by(Fault("refuse", skip=10, times=12, status=429)) as script:
        outcome = engine.map(lambda x: x, range(500), workers=2, retries=0)
    assert outcome.result() == list(range(500))
    assert outcome.lost == 0
    assert len(script.seen) > 22


def test_d07_two_runs_of_one_task_write_no_result_that_is_torn(engine: Engine) -> None:
    outcome = engine.map(
        lambda x: "ab"[x % 2] * 5_000_000, range(8), workers=2, launch=lambda workers: workers * 2
    )
    assert [(len(one), set(one)) for one in outcome.result()] == [
        (5_000_000, {"ab"[x % 2]}) for x in range(8)
    ]
