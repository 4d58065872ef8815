"""A memory size that is asked for and is not deployed."""

from __future__ import annotations

import pytest

from bellwren.control import plan
from bellwren.deployment import Deployment

SPEC = {"kind": "map", "workers": 2}
DEPLOYMENT = Deployment(
    "test", "jobs", "data", "records", "models", max_workers=8, worker_memory_mb=(512, 1769)
)


@pytest.mark.parametrize(("asked", "taken"), [(512, 512), (600, 1769), (9999, 1769)])
def test_the_nearest_that_is_deployed_is_taken_and_said(asked: int, taken: int) -> None:
    _, memory_mb, reason = plan._choose(
        {}, {**SPEC, "memory_mb": asked}, {"bytes": 0, "items": 4}, DEPLOYMENT
    )
    assert memory_mb == taken
    told = f"workers of {asked} MB are not deployed, the nearest have {taken} MB"
    assert (told in reason) is (asked != taken)
