"""How many items may fail before the job does."""

from __future__ import annotations

import math

_SLACK = 1e-9


def tolerated(items: int, share: float) -> int:
    """Most items of ``items`` that may fail where ``share`` of them are tolerated.

    Counted as people count: 0.29 of 100 is 29, though ``0.29 * 100`` is a little less in binary. The slack is far below
    one item of any job.
    """
    return math.floor(share * items + _SLACK * max(1.0, share * items))
