"""What a round has left of its stage: looked for once, by Plan, for itself and for all workers of the next round.

What tasks that are done no longer need, their pieces and the notes on them, is cleared away here. So each look reads as
much as there is open, however many rounds there were before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bellwren import layout
from bellwren.engine.commit import done_tasks, output_bucket
from bellwren.engine.stage import Stage
from bellwren.engine.trail import Note
from bellwren.store import Entry, Store


@dataclass(frozen=True)
class Leftovers:
    """The tasks of a stage after a round."""

    done: set[int]
    begun: set[int]
    """Open tasks of which there are pieces, or notes on what went wrong."""
    mark: str
    """Changes whenever workers have kept pieces of open tasks or found out about a culprit.

    Each such change is bounded (results grow, and no item is tried for ever), so a stage that changes comes to its end.
    """


def look(job_id: str, stage: Stage, jobs: Store) -> Leftovers:
    """See what is done and what is begun, and clear away what is no longer needed."""
    done = done_tasks(Store(output_bucket(stage, jobs.bucket)), jobs, job_id, stage)
    partials, trails = layout.partials(job_id, stage.name), layout.trails(job_id, stage.name)
    pieces, notes = list(jobs.list(partials)), list(jobs.list(trails))
    task_of = {one: _task(one, partials) for one in pieces} | {one: _task(one, trails) for one in notes}
    jobs.delete([one.key for one, task in task_of.items() if task in done])
    marks: list[Any] = [(one.key, one.etag) for one in pieces if task_of[one] not in done]
    # Only what was found out: a note that says no more than that somebody was there is no progress.
    for one in notes:
        if task_of[one] not in done and (data := jobs.find(one.key)):
            marks.append((one.key, *Note.from_json(data).findings()))
    return Leftovers(done, set(task_of.values()) - done, digest(marks))


def digest(marks: list[Any]) -> str:
    """A short text that changes with any of the marks; empty for none."""
    return sha256(json.dumps(marks).encode()).hexdigest()[:16] if marks else ""


def hand_on(job_id: str, stage: Stage, round_: int, left: Leftovers, jobs: Store) -> None:
    """Write for the workers of a round which tasks it has, those first that were begun."""
    open_tasks = set(range(stage.tasks)) - left.done
    begun = sorted(left.begun & open_tasks)
    told = {"begun": begun, "others": sorted(open_tasks - left.begun)}
    jobs.put(layout.left(job_id, stage.name, round_), json.dumps(told, separators=(",", ":")).encode())


def _task(entry: Entry, prefix: str) -> int:
    return int(entry.key[len(prefix) :].partition("/")[0])
