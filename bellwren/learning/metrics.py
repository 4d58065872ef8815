"""Figures for CloudWatch, as a line of a function's log in the embedded metric format: no request, no permission."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping

NAMESPACE = "Bellwren"

Emit = Callable[[Mapping[str, float], str], None]
"""Send values by metric name, for one algorithm."""


def emitter(stage: str, **beside: str) -> Emit:
    """Metrics of a stage: each in sum, and for each algorithm. ``beside`` stands in the line and is no metric."""

    def emit(values: Mapping[str, float], algorithm: str) -> None:
        described = {
            "Namespace": NAMESPACE,
            "Dimensions": [["Stage"], ["Stage", "Algorithm"]],
            "Metrics": [{"Name": name} for name in values],
        }
        line = {
            "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [described]},
            "Stage": stage,
            "Algorithm": algorithm,
            **beside,
            **values,
        }
        print(json.dumps(line), file=sys.stderr, flush=True)

    return emit
