"""Which Python the functions can run, and where.

A worker runs the Python minor version of the clients, because their functions travel as pickled code. The
prediction function shares no pickles with anyone, so it may run another version where its wheels need one.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

Version = tuple[int, int]


@dataclass(frozen=True)
class LambdaPython:
    """One managed Python runtime of Lambda."""

    version: Version
    glibc: Version
    """C library of the runtime's Amazon Linux (2: 2.26; 2023: 2.34): wheels for a newer one do not load."""

    @property
    def name(self) -> str:
        """``3.12``"""
        return text(self.version)


def text(version: Version) -> str:
    """``(3, 12)`` as ``3.12``."""
    return f"{version[0]}.{version[1]}"


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        LambdaPython((3, 11), glibc=(2, 26)),
        LambdaPython((3, 12), glibc=(2, 34)),
        LambdaPython((3, 13), glibc=(2, 34)),
        LambdaPython((3, 14), glibc=(2, 34)),
    )
}
"""Lambda runtimes that Bellwren and all its dependencies support, by name."""

ONNX_RUNTIMES = ("3.12", "3.14")
"""First and last Python with onnxruntime wheels (manylinux_2_28) that load on the Lambda runtime of that
version.
"""


def running() -> str:
    """Python minor version of the interpreter that deploys, e.g. ``3.12``."""
    return text((sys.version_info.major, sys.version_info.minor))


def for_prediction(python: str) -> str:
    """The deployment's Python where onnxruntime loads on it, else the nearest one where it does."""
    low, high = (RUNTIMES[name].version for name in ONNX_RUNTIMES)
    return text(min(max(RUNTIMES[python].version, low), high))
