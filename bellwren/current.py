"""Which item user code is called for: a name for what it does outside, which is at least once."""

from __future__ import annotations

from bellwren.errors import BellwrenError

_job_id = ""
_index = 0


def item_id() -> str:
    """A name for this item of this job, the same in every try and for no other item.

    Side effects of user code happen at least once, since what is lost is tried again. Give this as the key of a row, an
    object or a request, and a second try does the same thing again rather than another one.

    Raises:
        BellwrenError: outside a job.

    >>> cloud.map(lambda x: bellwren.item_id().rpartition(":")[2], ["a", "b"]).result()
    ['0', '1']
    """
    if not _job_id:
        raise BellwrenError(
            "item_id() names the item that a job's function is called for; this is not called by a job"
        )
    return f"{_job_id}:{_index}"


def enter(job_id: str, index: int) -> None:
    """Called before user code is, with what tells the item from all others."""
    global _job_id, _index  # one item at a time in a runner, like the seeds of the random generators
    _job_id, _index = job_id, index
