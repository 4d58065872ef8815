"""Memory and time of the functions whose size is not a setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """What one invocation may use."""

    memory_mb: int
    timeout_s: int


PREPARE = Size(memory_mb=512, timeout_s=120)
PREDICT = Size(memory_mb=1024, timeout_s=60)
PLAN = Size(memory_mb=1024, timeout_s=300)
FINISH = Size(memory_mb=512, timeout_s=300)
CONCLUDE = Size(memory_mb=512, timeout_s=120)
COLLECT = Size(memory_mb=256, timeout_s=120)
TRAIN = Size(memory_mb=3008, timeout_s=900)
"""3008 MB is what a new account may have."""
