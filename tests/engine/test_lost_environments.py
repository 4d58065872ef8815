"""An item that takes its whole worker down is found, and fails as its own item; nothing else is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import Engine

ENDED = "the whole environment of the worker ended while it ran the item"


def kill_my_parent(_: Any = None) -> None:
    """The parent of a runner is the process that Lambda started."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(5)


def kill_the_supervisor(_: Any = None) -> None:
    me, parent = os.getpid(), os.getppid()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != me:
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                os.kill(int(name), signal.SIGKILL)
    time.sleep(5)


@pytest.mark.parametrize("kill", [kill_my_parent, kill_the_supervisor])
@pytest.mark.parametrize("culprit", [0, 7, 11])
def test_the_culprit_fails_and_the_rest_succeeds(engine: Engine, kill: Any, culprit: int) -> None:
    def item(x: int) -> int:
        if x == culprit:
            kill()
        return x + 1

    outcome = engine.map(item, range(12), workers=1, retries=0, tolerate=0.1)
    results = outcome.result()
    assert [results[x] for x in range(12) if x != culprit] == [x + 1 for x in range(12) if x != culprit]
    assert set(outcome.failures) == {culprit}
    kind, message = outcome.failures[culprit]
    assert (kind, message) == ("WorkerDied", ENDED)
    # Found in the second life, known in the third; the first could not know.
    assert outcome.lost == 2


def test_what_a_killed_worker_had_written_takes_no_space_of_the_next(engine: Engine) -> None:
    def item(x: int) -> list[str]:
        (Path.cwd() / "large").write_text("x")
        found = [str(path) for path in Path.cwd().parents[1].glob("*/*/large")]
        if x == 0:
            kill_my_parent()
        return found

    outcome = engine.map(item, range(2), workers=1, retries=0, tolerate=0.5)
    assert len(outcome.result()[1]) == 1
    assert set(outcome.failures) == {0}


def test_a_culprit_in_a_long_task_is_found_by_halving(engine: Engine) -> None:
    def item(x: int) -> int:
        if x == 777:
            kill_my_parent()
        return x

    outcome = engine.map(item, range(16_000), workers=1, retries=0, tolerate=0.001)
    results = outcome.result()
    assert set(outcome.failures) == {777}
    assert [one for x, one in enumerate(results) if x != 777] == [x for x in range(16_000) if x != 777]
    assert outcome.lost <= 7


def test_a_culprit_of_a_shuffle_is_found_too(engine: Engine) -> None:
    def pairs(x: int) -> list[tuple[int, int]]:
        if x == 33:
            kill_my_parent()
        return [(x % 3, x)]

    outcome = engine.map_reduce(
        pairs, range(60), lambda _, values: sum(values), workers=2, retries=0, tolerate=0.1
    )
    expected = {rest: sum(x for x in range(60) if x % 3 == rest and x != 33) for rest in range(3)}
    assert outcome.result() == expected
    assert set(outcome.failures) == {33}


def test_other_workers_go_on_while_one_dies_again_and_again(engine: Engine) -> None:
    def item(x: int) -> int:
        if x == 3:
            kill_my_parent()
        return x

    outcome = engine.map(item, range(64), workers=3, retries=2, tolerate=0.1)
    results = outcome.result()
    assert [one for x, one in enumerate(results) if x != 3] == [x for x in range(64) if x != 3]
    assert outcome.failures[3] == ("WorkerDied", f"{ENDED} (3 tries)")


def test_an_item_that_kills_its_worker_once_succeeds_the_next_time(engine: Engine, tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    def item(x: int) -> int:
        if x == 5 and not mark.exists():
            mark.write_text("")
            kill_my_parent()
        return x

    outcome = engine.map(item, range(12), workers=1)
    assert outcome.result() == list(range(12))
    assert outcome.lost == 1


def test_innocent_items_of_other_cores_keep_their_good_name(engine: Engine) -> None:
    def item(x: int) -> int:
        time.sleep(0.01)
        if x == 20:
            kill_my_parent()
        return x

    outcome = engine.map(item, range(48), workers=1, retries=0, tolerate=0.1, memory_mb=3538)
    outcome.result()
    assert set(outcome.failures) == {20}
