"""Each task has its own seed, whatever ran before it and wherever it runs."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from far import far_map

from bellwren.payload import seeding
from bellwren.payload.seeding import seed


def draw() -> tuple[float, float]:
    return random.random(), float(np.random.rand())


def test_the_seed_depends_on_the_job_and_the_item_alone() -> None:
    seed("job", 3)
    first = draw()
    random.random()
    seed("job", 3)
    assert draw() == first
    others = set()
    for job, index in (("job", 4), ("job2", 3), ("job", 33)):
        seed(job, index)
        others.add(draw())
    assert len(others | {first}) == 4


def test_no_two_items_of_a_job_share_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(seeding.random, "seed", seeds.append)
    monkeypatch.setattr(seeding, "_SEEDED", ())
    for index in range(100_000):
        seeding.seed("job", index)
    assert len({value % (1 << 32) for value in seeds}) == 100_000


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.slow)])
def test_a_library_that_the_task_imports_is_seeded_too(library: str) -> None:
    call = {"numpy": "__import__('numpy').random.rand()", "torch": "__import__('torch').rand(1).item()"}[
        library
    ]
    code = f"import sys; from bellwren.payload.seeding import seed; seed('job', 5); print({call})"
    late = {subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)}
    early = f"import {library}; {code}"
    late.add(subprocess.check_output([sys.executable, "-c", early], text=True))
    assert len(late) == 1


def test_tasks_draw_their_own_numbers_however_they_are_batched() -> None:
    def numbers(_: Any) -> tuple[float, float]:
        import random

        import numpy as np

        return random.random(), float(np.random.rand())

    whole = far_map(numbers, [0, 1, 2])
    assert len(set(whole)) == 3
    assert far_map(numbers, [0, 1, 2]) == whole
    assert far_map(numbers, [0]) == whole[:1]
