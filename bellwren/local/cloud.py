"""Starting, finding and stopping a local cloud."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bellwren.local import deployment, ports, processes, serving, state, toolchain
from bellwren.local.access import LocalCloud
from bellwren.local.errors import LocalCloudError
from bellwren.local.interrupted import end_interrupted_jobs
from bellwren.local.settings import DEFAULT_PORT, DEFAULT_STAGE
from bellwren.local.state import State

_STORED = ("services", "objects", "cdk.out", "tmp")

Report = Callable[[str], None]


def _silent(_: str) -> None:
    return None


@dataclass(frozen=True)
class _Wanted:
    """What a start asks for."""

    place: Path
    port: int | None
    stage: str | None
    settings: Mapping[str, str]
    fresh: bool
    owner_pid: int | None
    tools: toolchain.Toolchain
    report: Report


def start(
    *,
    port: int | None = None,
    stage: str | None = None,
    directory: Path | str | None = None,
    checkout: Path | str | None = None,
    settings: Mapping[str, str] | None = None,
    fresh: bool = False,
    owner_pid: int | None = None,
    report: Report = _silent,
) -> LocalCloud:
    """Bring up the local cloud with Bellwren deployed on it; what is up and unchanged is left as it is.

    Args:
        port: where to listen on 127.0.0.1; by default as last time, else on the first free port from 4566 on.
        stage: which stage to deploy; by default the one of last time, else ``dev``.
        directory: where everything of this cloud lies; see :func:`bellwren.local.state.directory`.
        checkout: directory of the ``app.py`` to deploy; by default the checkout that this package comes from.
        settings: CDK context of the deployment, as for ``cdk deploy -c key=value``.
        fresh: delete the jobs and buckets of this cloud first.
        owner_pid: a process with which the cloud ends too, however that ends; for tests and benchmarks.
        report: is told, in a few words, what is being done.

    Raises:
        LocalCloudError: a port is in use, a tool is missing, or the deployment failed.
    """
    tools = toolchain.find(checkout)
    place = state.directory(directory)
    wanted = _Wanted(place, port, stage, settings or {}, fresh, owner_pid, tools, report)
    with state.locked(place, report):
        known = _settled(wanted)
        if known.pid is None:
            known = _launched(wanted, known)
        try:
            return _deployed(wanted, known)
        except BaseException:
            if not known.deployed:
                serving.end(place, known)  # half-made; the next start begins afresh
            raise


def running(directory: Path | str | None = None) -> LocalCloud | None:
    """The local cloud that runs, or None. Costs one request to it."""
    place = state.directory(directory)
    known = state.read(place)
    return _access(place, known) if known is not None and serving.answers(known) else None


def stop(directory: Path | str | None = None, *, report: Report = _silent) -> bool:
    """End the local cloud and every process that it started; False when none ran.

    Its jobs and buckets stay for the next start. A job that is running fails.
    """
    place = state.directory(directory)
    if not place.is_dir():
        return False
    with state.locked(place, report):
        known = _known(place, None)
        if known is None or not processes.family(known.marker):
            return False
        report("stopping")
        serving.end(place, known)
        return True


def _settled(wanted: _Wanted) -> State:
    """The cloud after ending and deleting what cannot go on; without a pid it is to be launched."""
    place = wanted.place
    known = _to_be_deleted(wanted) if wanted.fresh else _known(place, wanted.port)
    if known is None:
        return State(0, wanted.stage or DEFAULT_STAGE, "", "", "", None)
    known = replace(known, stage=wanted.stage or known.stage)
    if wanted.fresh or not known.deployed:
        wanted.report(
            "deleting jobs and buckets" if wanted.fresh else "beginning afresh after a failed start"
        )
        known = serving.end(place, known)
        for name in _STORED:
            shutil.rmtree(place / name, ignore_errors=True)
        return replace(known, deployed=())
    here = (sys.executable, str(wanted.tools.checkout))
    moved = wanted.port is not None and wanted.port != known.port
    if moved or (known.python, known.checkout) != here or not serving.answers(known):
        known = serving.end(place, known)  # also what a server that crashed left behind
    return known


def _to_be_deleted(wanted: _Wanted) -> State | None:
    try:
        known = _known(wanted.place, wanted.port)
    except LocalCloudError:
        state.forget(wanted.place)  # damaged
        known = _known(wanted.place, wanted.port)
    return known or State(0, DEFAULT_STAGE, "", "", "", None)


def _known(place: Path, port: int | None) -> State | None:
    """What is written down; where that is lost, what the server of this directory says of itself."""
    known = state.read(place)
    if known is not None:
        return known
    listening = port or DEFAULT_PORT
    found = ports.identity(listening)
    if found is None or Path(found["directory"]) != place:
        return None
    return State(listening, DEFAULT_STAGE, "", "", found["marker"], found["pid"], (DEFAULT_STAGE,))


def _launched(wanted: _Wanted, known: State) -> State:
    port = ports.choose(wanted.port, known.port if known.deployed else None, place=wanted.place)
    wanted.report(f"starting on port {port}")
    launched = serving.launch(
        wanted.place, replace(known, checkout=str(wanted.tools.checkout)), port, wanted.owner_pid
    )
    for stage in known.deployed:
        for job_id in end_interrupted_jobs(_access(wanted.place, launched), stage):
            wanted.report(f"ended job {job_id}, which was running when the cloud went down")
    return launched


def _deployed(wanted: _Wanted, known: State) -> LocalCloud:
    cloud = _access(wanted.place, known)
    context = deployment.context(known.stage, wanted.settings)
    digest = deployment.digest(wanted.tools.checkout, context)
    if cloud.deployed_digest() != digest or cloud.deployment() is None:
        wanted.report("deploying: synthesis")
        cloud.client("s3").create_bucket(Bucket=deployment.asset_bucket(wanted.tools.checkout))
        deployment.deploy(
            wanted.tools, context, place=wanted.place, environment=cloud.environment(), report=wanted.report
        )
        cloud.note_digest(digest)
        ports.checkpoint(known.port)
    stages = tuple(dict.fromkeys([*known.deployed, known.stage]))
    state.write(wanted.place, replace(known, deployed=stages))
    return cloud


def _access(place: Path, known: State) -> LocalCloud:
    assert known.pid is not None
    return LocalCloud(known.port, known.stage, place, known.pid)
