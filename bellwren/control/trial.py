"""How fast a built-in algorithm is on its own data: run on a small sample of it, before there is any record of it.

The forecast of a job that no model knows rests on this instead of on a guess (`forecasting.fallback.analytic`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from bellwren.algorithms.functions import load_builtin
from bellwren.control.characteristics import Sample, is_quick

TRIED = ("grep", "wordcount")
"""Algorithms of one pass over lines: their time is that of a line, times the lines."""
_LEAST_BYTES = 1 << 12
"""A smaller sample says more about the clock than about the algorithm."""


def seconds_per_byte(algorithm: str, params: Mapping[str, Any], sample: Sample) -> float | None:
    """Processor seconds for a byte of input, None where this can't be tried: other algorithms, no lines, a pattern that
    may take very long.

    Processor time, because this function has a fraction of a processor and the workers may have several.
    """
    text = b"".join(sample.pieces)
    quick = all(is_quick(value) for name, value in params.items() if name == "pattern")
    if algorithm not in TRIED or sample.compressed or len(text) < _LEAST_BYTES or not quick:
        return None
    functions = load_builtin(algorithm, dict(params))
    began = time.process_time()
    if functions.count_text is not None:
        functions.count_text(text)
    elif functions.map is not None:
        for line in text.decode("utf-8", "replace").splitlines():
            for _ in functions.map(line):
                pass
    # Two digits, as many as such a trial is good for.
    return float(f"{max(time.process_time() - began, 1e-6) / len(text):.2g}")
