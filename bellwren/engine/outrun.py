"""Stop what somebody else has finished: of a task and its backup, whichever is second need not go on.

Without this a round would last as long as its slowest straggler, however quickly the backup had its result.
"""

from __future__ import annotations

import asyncio
import time

from bellwren.engine.commit import Committer
from bellwren.engine.crew import Crew
from bellwren.engine.sharing import Sharing

_LOOK_S = 0.25
_FIRST_S = 1.0
"""A task that takes less is not worth a request."""
_SHARE = 0.1


def due(elapsed_s: float, asked_s: float) -> bool:
    """Whether to look again, ``elapsed_s`` into a task, when the last look was at ``asked_s`` (0 for none).

    At most once a second and once for each tenth of the time that the task has taken, so looking costs next to nothing.
    """
    return elapsed_s >= _FIRST_S and elapsed_s - asked_s >= max(_FIRST_S, _SHARE * elapsed_s)


async def watch(sharing: Sharing, committer: Committer, crew: Crew) -> None:
    """End the runner of each task whose output is there already."""
    began: dict[int, tuple[object, float, float]] = {}
    while True:
        await asyncio.sleep(_LOOK_S)
        for slot, work in list(sharing.running.items()):
            now = time.monotonic()
            known, since, asked = began.get(slot, (None, 0.0, 0.0))
            if known is not work:
                since, asked = now, 0.0
            if due(now - since, asked):
                asked = now - since
                at_it = sharing.running.get(slot) is work and crew.progress.get(slot)[0] >= 0
                if at_it and await committer.exists(work.task) and sharing.running.get(slot) is work:
                    crew.kill(slot, "outrun")
            began[slot] = (work, since, asked)
