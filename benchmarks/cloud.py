"""The local cloud that benchmarks run on: one of their own, kept between runs."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from bellwren import Cloud, connect, local

_DIRECTORY = Path(__file__).resolve().parent.parent / ".bellwren" / "bench"


@cache
def deployed() -> Cloud:
    """A deployment to measure on, started if need be."""
    place = local.start(directory=_DIRECTORY, stage="bench")
    os.environ.update(place.environment())
    return connect(stage="bench")
