"""What a worker of a given memory size can hold."""

from __future__ import annotations

MB_PER_VCPU = 1769
"""Lambda gives one vCPU for each 1,769 MB."""
_SUPERVISOR_MB = 96
_LEAST_RUNNER_MB = 64
_RESULTS_SHARE = 0.75


def vcpus(memory_mb: int) -> int:
    """Runners of a worker: one for each vCPU."""
    return max(1, round(memory_mb / MB_PER_VCPU))


def results_bytes(memory_mb: int) -> int:
    """Most of one task's results that a worker holds until they are written, in one piece.

    With more it would die for want of memory, and be taken for the victim of whatever item it was at.
    """
    return int(memory_mb * _RESULTS_SHARE / vcpus(memory_mb)) << 20


def runner_memory_bytes(memory_mb: int) -> int:
    """Private memory that one runner may take, leaving the supervisor its share."""
    return max(_LEAST_RUNNER_MB, (memory_mb - _SUPERVISOR_MB) // vcpus(memory_mb)) << 20
