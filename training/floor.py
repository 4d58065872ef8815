"""The noise floor: how well each repeat is predicted by the median of the other repeats of its own cell.

No model that sees only what is known before a run can be expected to do better.
"""

from __future__ import annotations

import numpy as np

from training.protocol import Task
from training.scores import Score

NAME = "floor"


def floor_scores(task: Task) -> list[Score]:
    """Errors of the medians of the other repeats; nothing for cells that ran once."""
    out = []
    for test in task.tests:
        runtimes = np.array([run.runtime_s for run in test.runs])
        if runtimes.size < 2:
            continue
        others = [np.delete(runtimes, at) for at in range(runtimes.size)]
        medians = np.array([np.median(rest) for rest in others])
        highs = np.array([np.quantile(rest, 0.95) for rest in others])
        error = np.abs(medians - runtimes)
        out.append(
            Score(
                test.kind,
                len(task.shown),
                float(np.mean(error / runtimes)),
                float(np.mean(error)),
                float(np.mean(runtimes <= highs)),
                float(np.mean(highs / medians)),
                task.context,
            )
        )
    return out
