"""Each task has its own seed, whatever ran before it and wherever it runs."""

from __future__ import annotations

import importlib
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from far import far_map

from bellwren.payload import seeding
from bellwren.payload.seeding import seed, value_of

seeding.install()


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


def test_no_two_items_of_a_job_share_a_seed() -> None:
    assert len({value_of("job", index) % (1 << 32) for index in range(100_000)}) == 100_000


DRAWS: dict[str, Callable[[Any], Any]] = {
    "random": lambda source: source.random(),
    "getrandbits": lambda source: source.getrandbits(40),
    "gauss, once": lambda source: source.gauss(0, 1),
    "gauss, a pair": lambda source: [source.gauss(0, 1), source.gauss(0, 1)],
    "sample": lambda source: source.sample(range(1000), 5),
    "randbytes": lambda source: source.randbytes(5),
    "getstate": lambda source: source.getstate(),
}


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
def test_whatever_draws_first_finds_a_seeded_generator(draws: Callable[[Any], Any]) -> None:
    seed("job", 4)
    random.gauss(0, 1)  # leaves half of a pair behind
    seed("job", 5)
    expected = random.Random(value_of("job", 5))
    assert [draws(random), draws(random)] == [draws(expected), draws(expected)]


def test_a_seed_or_a_state_of_the_tasks_own_is_kept() -> None:
    seed("job", 1)
    state = random.getstate()
    seed("job", 2)
    random.seed(3)
    assert random.random() == random.Random(3).random()
    seed("job", 2)
    random.setstate(state)
    assert random.random() == random.Random(value_of("job", 1)).random()


def test_what_a_module_keeps_of_random_is_seeded_for_every_task(tmp_path: Path) -> None:
    (tmp_path / "keeps_random.py").write_text("from random import random, gauss")
    sys.path.insert(0, str(tmp_path))
    seed("job", 1)
    random.random()  # the functions of the module are C's own now
    try:
        module: Any = importlib.import_module("keeps_random")
    finally:
        sys.path.remove(str(tmp_path))
    seed("job", 2)
    assert module.random() == random.Random(value_of("job", 2)).random()
    seed("job", 3)
    assert module.gauss(0, 1) == random.Random(value_of("job", 3)).gauss(0, 1)


def test_a_child_that_a_task_forks_draws_numbers_of_its_own() -> None:
    seed("job", 1)
    found, write = os.pipe()
    for _ in range(2):
        if os.fork() == 0:
            os.write(write, repr(random.random()).ljust(30).encode())
            os._exit(0)
        os.wait()
    drawn = {os.read(found, 30), os.read(found, 30), repr(random.random()).ljust(30).encode()}
    assert len(drawn) == 3


def test_the_generator_travels_as_what_it_would_have_drawn() -> None:
    seed("job", 1)
    copied = pickle.loads(pickle.dumps(random._inst))
    assert type(copied) is random.Random
    assert copied.random() == random.random() == random.Random(value_of("job", 1)).random()


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.slow)])
def test_a_library_that_the_task_imports_is_seeded_too(library: str) -> None:
    call = {"numpy": "__import__('numpy').random.rand()", "torch": "__import__('torch').rand(1).item()"}[
        library
    ]
    code = f"from bellwren.payload.seeding import install, seed; install(); seed('job', 5); print({call})"
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


FROM_IMPORTS = """
from random import gauss, randint, random
from numpy.random import normal, rand
def numbers(_):
    return random(), randint(1, 10**9), gauss(0, 1), float(rand()), float(normal())
"""


def test_functions_of_random_that_a_script_has_imported_are_the_workers() -> None:
    """They are methods of one generator, which must not travel with the state that it has in the client."""
    script: dict[str, Any] = {"__name__": "__main__"}
    exec(FROM_IMPORTS, script)
    first = far_map(script["numbers"], [0, 1])
    assert len({number for numbers in first for number in numbers}) == 10
    random.random()
    np.random.rand()
    assert far_map(script["numbers"], [0, 1]) == first
    expected = random.Random(value_of("job", 1))
    assert first[1][:3] == (expected.random(), expected.randint(1, 10**9), expected.gauss(0, 1))
