"""Worker side: a random seed for each task, equal whenever and wherever the task runs.

Python's generator is seeded when a task draws its first number, and not before: a seed takes longer than the whole
call of many a function, and few functions draw any. NumPy's and PyTorch's are seeded at once, where they are loaded.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_SEEDED = ("numpy.random", "torch")
_STEP = 0x9E3779B97F4A7C15
"""Odd, so that the items of a job have different seeds in any number of low bits (Weyl sequence, Knuth 6.4)."""
_shared: random.Random = vars(random)["_inst"]
"""The generator whose methods are the functions of `random`."""
_task = ("", 0)


def seed(job_id: str, index: int) -> None:
    """Seed `random`, and the global generators of NumPy and PyTorch, loaded already or by the task later.

    The seed is made of the job's id and the item's index. Generators that ask the system for randomness
    (``numpy.random.default_rng()``, `secrets`, `uuid`) are not touched.
    """
    global _task  # noqa: PLW0603  one item at a time in a runner
    _task = job_id, index
    if type(_shared) is not _Waiting:
        _shared.__class__ = _Waiting
        vars(_shared)["gauss_next"] = None  # half of a pair that the task before has drawn
        _put(_watched)
    for name in _SEEDED:
        if name in sys.modules:
            _seed_module(name)


def install() -> None:
    """Make ready for `seed`, before anything of the user's is imported: it may keep functions of `random`."""
    if _hook in sys.meta_path:
        return
    sys.meta_path.insert(0, _hook)
    _put(_watched)
    # Registered behind `random`'s own, which gives a forked child a state of its own.
    os.register_at_fork(after_in_child=_forget)


def value_of(job_id: str, index: int) -> int:
    """The seed of an item: a number of 64 bits."""
    return (_of_job(job_id) + index * _STEP) % (1 << 64)


class _Waiting(random.Random):
    """What the shared generator is until its first use. Everything that draws numbers comes by one of these."""

    __slots__ = ()

    def random(self) -> float:
        return _seeded().random()

    def getrandbits(self, k: int, /) -> int:
        return _seeded().getrandbits(k)

    def seed(self, a: Any = None, version: int = 2) -> None:
        _forget()
        random.Random.seed(self, a, version)

    def getstate(self) -> tuple[Any, ...]:
        return _seeded().getstate()

    def setstate(self, state: tuple[Any, ...]) -> None:
        _forget()
        random.Random.setstate(self, state)

    def __reduce__(self) -> Any:
        return _seeded().__reduce__()


def _seeded() -> random.Random:
    """The shared generator, seeded if it was not yet: a bound method of `_Waiting` may be called again."""
    if type(_shared) is _Waiting:
        _forget()
        random.Random.seed(_shared, value_of(*_task))
    return _shared


def _forget() -> None:
    """Let the shared generator be as it is."""
    _shared.__class__ = random.Random
    _put(_quick)  # as fast as ever for those that draw many


def _put(functions: dict[str, Callable[..., Any]]) -> None:
    vars(random).update(functions)


def _watched_function(name: str) -> Callable[..., Any]:
    """A function of the module `random` in place of a bound method, which would pass `_Waiting` by."""

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(_shared, name)(*arguments, **named)

    def draw() -> float:
        return _shared.random()

    made = draw if name == "random" else call
    made.__module__, made.__name__, made.__qualname__ = "random", name, name
    made.__doc__ = getattr(_shared, name).__doc__
    return made


_FUNCTIONS = ("random", "getrandbits", "seed", "getstate", "setstate")
"""Those that are bound to more than the class's other methods: the rest call these."""
_quick = {name: getattr(_shared, name) for name in _FUNCTIONS}
_watched = {name: _watched_function(name) for name in _FUNCTIONS}


@lru_cache(maxsize=8)
def _of_job(job_id: str) -> int:
    return int.from_bytes(hashlib.sha256(job_id.encode()).digest()[:8], "big")


def _seed_module(name: str) -> None:
    module: Any = sys.modules[name]
    value = value_of(*_task)
    if module is None:  # whoever wants an import to fail puts that there
        return
    if name == "torch":
        module.manual_seed(value)
    else:
        # A single number of 32 bits is seeded nine times as fast as two; within a job no two items share it.
        module.seed(value % (1 << 32))


class _SeedOnImport:
    """Seeds a library that a task is the first to import, which would else start from the system's randomness."""

    _busy = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system."""
        _put(_watched)  # what a module keeps of `random` it keeps for all tasks
        if fullname not in _SEEDED or self._busy:
            return None
        self._busy = True
        try:
            others = (
                finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self
            )
            spec = next((found for found in others if found is not None), None)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_seed(module: ModuleType) -> None:
            run(module)
            _seed_module(fullname)

        spec.loader.exec_module = run_and_seed  # type: ignore[method-assign]
        return spec


_hook = _SeedOnImport()
