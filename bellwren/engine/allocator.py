"""Memory that is freed goes back to the system."""

from __future__ import annotations

import contextlib
import ctypes

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


def return_large_blocks() -> None:
    """Have the C library map what is larger than a MiB by itself, and unmap it when it is freed.

    glibc raises that bound as it goes, and then keeps large blocks in the heap of each thread: a supervisor, whose
    sixteen threads fetch and write megabytes at a time, would hold twice the memory that it uses. Other C libraries
    have no such function, and no such habit.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
