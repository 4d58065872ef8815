"""Worker side: a random seed for each task, equal whenever and wherever the task runs."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec
from types import ModuleType

_SEEDED = ("numpy.random", "torch")
_STEP = 0x9E3779B97F4A7C15
"""Odd, so that the items of a job have different seeds in any number of low bits (Weyl sequence, Knuth 6.4)."""


def seed(job_id: str, index: int) -> None:
    """Seed `random`, and the global generators of NumPy and PyTorch, loaded already or by the task later.

    The seed is made of the job's id and the item's index. Generators that ask the system for randomness
    (``numpy.random.default_rng()``, `secrets`, `uuid`) are not touched.
    """
    value = (_of_job(job_id) + index * _STEP) % (1 << 64)
    random.seed(value)
    _hook.value = value
    for name in _SEEDED:
        _seed_module(name, value)
    if _hook not in sys.meta_path:
        sys.meta_path.insert(0, _hook)


@lru_cache(maxsize=8)
def _of_job(job_id: str) -> int:
    return int.from_bytes(hashlib.sha256(job_id.encode()).digest()[:8], "big")


def _seed_module(name: str, value: int) -> None:
    module = sys.modules.get(name)
    if module is None:
        return
    if name == "torch":
        module.manual_seed(value)
    else:
        # A single number of 32 bits is seeded nine times as fast as two; within a job no two items share it.
        module.seed(value % (1 << 32))


class _SeedOnImport:
    """Seeds a library that a task is the first to import, which would else start from the system's randomness."""

    value = 0
    _busy = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system."""
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
            _seed_module(fullname, self.value)

        spec.loader.exec_module = run_and_seed  # type: ignore[method-assign]
        return spec


_hook = _SeedOnImport()
