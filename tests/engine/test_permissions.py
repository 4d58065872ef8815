"""Least privilege from both sides: jobs of every kind need nothing that their roles lack, and all that they have.

The policies are those of infra/permissions; storage is the tests' S3 behind a proxy that refuses what they do not
allow, and answers 403 for a missing object to who may not list, as AWS does. What needs no storage (queues,
invocations, logs) is tested end to end with the emulator's IAM.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bellwren import layout
from bellwren.control.conclude import conclude
from bellwren.control.forecast import forecast
from bellwren.control.served import ServedModels
from bellwren.store import Store
from tests.engine import harness
from tests.engine.harness import Engine, Outcome
from tests.engine.permissions import Grant, Guard, GuardedProxy, deployed
from tests.engine.server import Server
from tests.engine.sorts import folder
from tests.engine.test_state_machine import JOBS, _settled, a_map, made

pytestmark = pytest.mark.timeout(1200)  # all jobs run in one fixture

ALL = bool(os.environ.get("BELLWREN_PERMISSIONS"))
NEVER_SEEN = {
    # Taken when an upload in parts is given up, after its request failed again and again.
    "s3:AbortMultipartUpload",
}


@pytest.fixture(scope="module")
def guarded(server: Server) -> Iterator[Engine]:
    environment = pytest.MonkeyPatch()
    environment.setenv("AWS_ENDPOINT_URL", server.endpoint)
    for name, value in harness.CREDENTIALS.items():
        environment.setenv(name, value)
    guard = Guard(deployed(), {})
    proxy = GuardedProxy(server.port, guard)
    engine = Engine(server, proxy)
    guard.buckets = {name: kind for kind, name in engine.buckets.items()}

    def as_role(role: str, function: Callable[..., Any]) -> Callable[..., Any]:
        door, port = proxy.open_door()
        proxy.roles[door] = role

        def call(*arguments: Any) -> Any:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
                return function(*arguments)

        return call

    predict = as_role(
        "predict",
        lambda job_id, deployment: forecast(
            job_id, deployment, ServedModels(Store(deployment.models_bucket))
        ),
    )
    prepare = as_role("prepare", harness.prepare)

    def prepare_and_forecast(*arguments: Any) -> Any:
        job = prepare(*arguments)
        if job["action"] == "RUN":
            predict(job["job_id"], arguments[-1])
        return job

    # A worker that is refused something is refused it again.
    environment.setitem(Engine.execute.__kwdefaults__, "lives", 1)
    environment.setattr(harness, "prepare", prepare_and_forecast)
    environment.setattr(harness, "plan", as_role("plan", harness.plan))
    environment.setattr(harness, "finish", as_role("finish", harness.finish))
    environment.setattr(harness, "conclude", as_role("conclude", conclude), raising=False)
    yield engine
    environment.undo()
    engine.close()
    proxy.close()


def guard_of(engine: Engine) -> Guard:
    assert isinstance(engine.proxy, GuardedProxy)
    return engine.proxy.guard


def by_document(document: Any) -> Callable[[Engine], Outcome]:
    return lambda engine: engine.execute({"spec": _settled(document(engine))}, harness.uuid.uuid4().hex)


def into_the_data_bucket(engine: Engine) -> Outcome:
    uri = folder(engine, b"b\na\n" * 20)
    output = uri.removesuffix("/") + "-out/"
    return engine.run(
        {"bellwren": 1, "algorithm": "sort", "input": {"lines": uri}, "output": {"uri": output}, "workers": 2}
    )


def dropped(engine: Engine) -> Outcome:
    key = f"{layout.SPECS}{harness.uuid.uuid4().hex}.json"
    engine.store.put_json(
        key,
        {
            "bellwren": 1,
            "algorithm": "grep",
            "params": {"pattern": "a"},
            "input": {"lines": folder(engine, b"a\n")},
        },
    )
    bucket = {"name": engine.buckets["jobs"]}
    event = {
        "detail-type": "Object Created",
        "detail": {"bucket": bucket, "object": {"key": key, "sequencer": "01"}},
    }
    return engine.execute(event, harness.uuid.uuid4().hex)


def resumed(engine: Engine) -> Outcome:
    """A job that failed, and at the second attempt does not."""
    with tempfile.TemporaryDirectory() as folder:
        mended = f"{folder}/mended"

        def item(x: int) -> float:
            return 1 / (x - 7) if x != 7 or not os.path.exists(mended) else 0.0

        failed = engine.map(item, range(100), workers=2)  # several in a task: pieces of it are laid down
        open(mended, "w").close()
        return engine.execute({"resume": failed.job_id}, harness.uuid.uuid4().hex)


def redriven(engine: Engine) -> Outcome:
    """Only its last state, which takes the job up again; what it wrote lies in the data bucket."""
    name = harness.uuid.uuid4().hex
    output = {"uri": f"s3://{engine.data.bucket}/out-{name}/", "format": "jsonl"}
    # Several items in a task, so that there is something of one that failed to lay down.
    document = made(engine, "map", {"map": lambda x: 1 // (x - 7)}, range(100))
    outcome = engine.execute({"spec": {**document, "output": output}}, name)
    answer = harness.conclude(outcome.job_id, f"arn:execution:{name}", 1, outcome.deployment)
    outcome.status["status"] = "SUCCEEDED" if answer["action"] == "RUN" else answer["action"]
    return outcome


def chained(engine: Engine) -> Outcome:
    first = engine.map(lambda x: x + 1, range(9), workers=2)
    document = engine._document("map", {"map": lambda x: -x}, [0], {"workers": 2})[0]
    document = {name: value for name, value in document.items() if name != "items_payload"}
    return engine.run({**document, "input": {"job": first.job_id}})


def with_items_in_the_document(engine: Engine) -> Outcome:
    document = a_map(engine)
    document = {name: value for name, value in document.items() if name != "items_payload"}
    return engine.run({**document, "items": [1, 2, 3]})


def that_prints(engine: Engine) -> Outcome:
    return engine.map(print, range(3), workers=1)


def over_large_objects(engine: Engine) -> Outcome:
    """Plan looks into them before it cuts them."""
    uri = folder(engine, b"to be or not\n" * 40_000)
    return engine.run(
        {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": uri, "chunk": "64KB"}, "workers": 2}
    )


def whose_input_vanishes(engine: Engine) -> Outcome:
    """The error says what is not there, which only who may list is told."""
    uri = folder(engine, b"a\n")
    prefix = uri.removeprefix(f"s3://{engine.data.bucket}/")

    def vanish(_: Any) -> None:
        engine.data.delete([entry.key for entry in engine.data.list(prefix)])

    document = {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": uri}, "workers": 1}
    outcome = engine.run(document, {"before_round": vanish})
    assert "is gone now" in outcome.status["error"]["message"]
    return outcome


def long_supersteps(engine: Engine) -> Outcome:
    """Long enough for checkpoints, behind which supersteps are deleted."""

    def step(worker: Any) -> None:
        time.sleep(0.6)

    document = made(engine, "bsp", {"step": step}, [[] for _ in range(2)], max_supersteps=8)
    return engine.run(document)


def whose_workers_left_no_report(engine: Engine) -> Outcome:
    """Finish looks into their outputs, wherever these are."""
    finish = harness.finish

    def without_reports(state: Any, deployment: Any) -> Any:
        work = engine.store.list(layout.work(state["job_id"]))
        engine.store.delete([entry.key for entry in work if "/workers/" in entry.key])
        return finish(state, deployment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness, "finish", without_reports)
        return into_the_data_bucket(engine)


OTHERS = (
    *(
        into_the_data_bucket,
        dropped,
        resumed,
        redriven,
        chained,
        with_items_in_the_document,
        that_prints,
        over_large_objects,
    ),
    *(whose_input_vanishes, long_supersteps, whose_workers_left_no_report),
)
RUNS: dict[str, Callable[[Engine], Outcome]] = {
    **{document.__name__: by_document(document) for document in JOBS},
    **{one.__name__: one for one in OTHERS},
}


@pytest.fixture(scope="module")
def uses(guarded: Engine) -> dict[Grant, list[str]]:
    """Which runs needed each grant, after all have run."""
    guard, found = guard_of(guarded), defaultdict(list)
    for name, run in RUNS.items():
        guard.used = set()
        run(guarded)
        for grant in guard.used:
            found[grant].append(name)
    return found


def test_jobs_of_every_kind_need_nothing_that_their_roles_lack(
    guarded: Engine, uses: dict[Grant, list[str]]
) -> None:
    assert uses
    assert guard_of(guarded).refused == []


def test_no_permission_is_one_that_nothing_needs(uses: dict[Grant, list[str]]) -> None:
    unused = {grant for grant in deployed() - set(uses) if grant.action not in NEVER_SEEN}
    assert not unused, "\n".join(sorted(map(str, unused)))


# Without these a job ends well all the same: what they are for is missing and nothing else.
DISPENSABLE = {
    # Working keys are left behind, and expire.
    ("finish", "s3:DeleteObject", "jobs", f"{layout.WORK}*"),
    # Checkpoints and supersteps behind them are left behind, and Finish deletes them.
    ("worker", "s3:DeleteObject", "jobs", f"{layout.WORK}*"),
    # What was printed is lost.
    ("worker", "s3:PutObject", "jobs", f"{layout.logs('*')}*"),
}


def test_each_permission_that_is_taken_away_is_missed(guarded: Engine, uses: dict[Grant, list[str]]) -> None:
    """A job that needed it is refused that very thing, and does not seem to succeed.

    ``make permissions`` takes all away, one at a time; other runs of the tests every eighth, which is faster.
    """
    guard = guard_of(guarded)
    chosen = sorted(uses)
    silent = set()
    for grant in chosen if ALL else chosen[::8]:
        known = (grant.role, grant.action, grant.bucket, grant.key)
        for name in uses[grant][: 1 if known in DISPENSABLE else None]:
            guard.removed, guard.refused = grant, []
            ended = ending(RUNS[name], guarded)
            refused = [one for one in guard.refused if one.startswith(f"{grant.role} {grant.action} ")]
            assert refused, f"{grant}: {name} ended {ended} and was refused {guard.refused[:3]}"
            if ended != "SUCCEEDED":
                break
        else:
            silent.add(known)
    guard.removed, guard.refused = None, []
    assert silent <= DISPENSABLE
    assert not ALL or silent == DISPENSABLE


def ending(run: Callable[[Engine], Outcome], engine: Engine) -> str:
    """The job's status, or the error of the function that could not do its part."""
    try:
        return str(run(engine).status["status"])
    except Exception as error:  # noqa: BLE001  as the function would fail
        return type(error).__name__
