"""What `bellwren local status` says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bellwren.local import processes, serving, state
from bellwren.local.access import LocalCloud

RUNNING = "running"
STOPPED = "stopped"
CRASHED = "crashed"
UNRESPONSIVE = "unresponsive"
NOT_DEPLOYED = "not deployed"

ADVICE = {
    STOPPED: "start it with `bellwren local start`",
    CRASHED: "its process is gone; `bellwren local start` brings it back with its jobs and buckets",
    UNRESPONSIVE: "its process lives and does not answer; `bellwren local start` replaces it",
    NOT_DEPLOYED: "its deployment is not complete; `bellwren local start` completes it",
}


@dataclass(frozen=True)
class Status:
    """One look at a local cloud."""

    state: str
    """``running``, ``stopped``, ``crashed``, ``unresponsive`` or ``not deployed``."""
    directory: str
    endpoint: str | None = None
    stage: str | None = None
    version: str | None = None
    """Version of Bellwren that is deployed."""
    python: str | None = None
    """Python minor version of the deployed functions."""
    jobs_bucket: str | None = None
    data_bucket: str | None = None
    pid: int | None = None
    processes: int = 0
    """Living processes of the cloud, the server among them."""
    log: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The form of ``--json``."""
        return asdict(self)


def look(directory: Path | str | None = None) -> Status:
    """Look at the local cloud of a directory; see :func:`bellwren.local.state.directory`."""
    place = state.directory(directory)
    known = state.read(place)
    if known is None:
        return Status(STOPPED, str(place))
    log = str(place / serving.LOG)
    count = len(processes.family(known.marker)) if known.marker else 0
    if known.pid is None:
        return Status(STOPPED, str(place), stage=known.stage, processes=count, log=log)
    if not serving.answers(known):
        found_state = UNRESPONSIVE if processes.bears(known.pid, known.marker) else CRASHED
        return Status(found_state, str(place), stage=known.stage, processes=count, log=log)
    cloud = LocalCloud(known.port, known.stage, place, known.pid)
    found = cloud.deployment() or {}
    return Status(
        RUNNING if found else NOT_DEPLOYED,
        str(place),
        endpoint=cloud.endpoint,
        stage=known.stage,
        version=found.get("version"),
        python=found.get("python"),
        jobs_bucket=found.get("jobs_bucket"),
        data_bucket=found.get("data_bucket"),
        pid=known.pid,
        processes=count,
        log=log,
    )
