"""More keys than one answer of S3 to a listing holds, on a real S3: claims, outputs, pieces, notes, failures."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bellwren import layout
from bellwren.control import leftovers
from bellwren.engine.claims import Claims
from bellwren.engine.commit import done_tasks
from bellwren.engine.progressed import Progressed
from bellwren.engine.stage import Output, Stage
from bellwren.engine.trail import Note
from bellwren.store import Store
from tests.engine.harness import Engine
from tests.engine.proxy import Proxy

MANY = 1100


def put_all(store: Store, objects: Iterable[tuple[str, bytes]]) -> None:
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda one: store.put(*one), objects))


def stage_of(output: Output | None) -> Stage:
    return Stage(
        "map", "map" if output else "shuffle", MANY, functions={}, input={"kind": "items"}, output=output
    )


def test_a_job_of_more_than_a_thousand_tasks(engine: Engine, proxy: Proxy) -> None:
    def item(x: int) -> int:
        if x % 2:
            raise ValueError(x)
        return x

    # 64 workers have 1,024 tasks; one does them all, so it claims its own run and steals all others.
    with proxy.disturbed_by() as script:
        outcome = engine.map(item, range(1100), workers=64, tolerate=0.6, launch=lambda workers: workers[:1])
    results = outcome.result()
    assert results[::2] == list(range(0, 1100, 2))
    assert outcome.status["failed"] == 550
    assert outcome.plan["stages"]["map"]["tasks"] == 1024
    assert len(list(engine.store.list(layout.errors(outcome.job_id)))) == 550
    assert [one.index for one in results[1::2]] == list(range(1, 1100, 2))
    claims = [one.path for one in script.seen if one.method == "PUT" and "/claims/" in one.path]
    assert len({path.split("/map/claims/")[0] for path in claims}) == 2, "they are spread over two places"
    assert not [one for place in layout.places(outcome.job_id, 1024) for one in engine.store.list(place)]


def test_claims_are_read_over_several_pages_and_places(engine: Engine) -> None:
    job_id = f"job-{uuid.uuid4().hex[:8]}"
    claims = Claims(engine.store, job_id, "map", 0, 0, "one", MANY)
    keys = [layout.task_claim(job_id, "map", 0, task, MANY) for task in range(MANY) if task != 1023]
    offer = layout.rest_claim(keys[7], 3) + ".open"
    put_all(engine.store, [(key, b"{}") for key in [*keys, offer]])
    assert len({key.split("/map/")[0] for key in keys}) == 2
    board = claims.board()
    assert board.taken == set(range(MANY)) - {1023}
    assert board.offers == [(7, 3)]
    beside = claims.taken_beside(1023)
    assert beside == set(range(1, MANY, 2)) - {1023}


def test_one_place_tells_that_tasks_are_left_and_all_that_none_are(engine: Engine) -> None:
    job_id = f"job-{uuid.uuid4().hex[:8]}"
    even, odd = (Claims(engine.store, job_id, "map", 0, worker, "one", MANY) for worker in (0, 1))

    def unclaimed(claims: Claims) -> tuple[int, int]:
        before = engine.store.requests["list"]
        return claims.unclaimed(), engine.store.requests["list"] - before

    def claim(tasks: range) -> None:
        put_all(engine.store, [(layout.task_claim(job_id, "map", 0, task, MANY), b"{}") for task in tasks])

    assert unclaimed(even) == (MANY, 1)
    claim(range(0, 550))
    assert unclaimed(even) == unclaimed(odd) == (550, 1)
    claim(range(550, MANY, 2))
    assert unclaimed(odd) == (550, 1), "an estimate: as if it were so in each place"
    assert unclaimed(even)[0] == 275, "nothing is left where it looks, so it looks everywhere"
    claim(range(551, MANY, 2))
    assert unclaimed(even)[0] == unclaimed(odd)[0] == 0


def test_outputs_pieces_and_notes_are_read_over_several_pages(engine: Engine) -> None:
    job_id = f"job-{uuid.uuid4().hex[:8]}"
    piece, note = Progressed(0, 1, [b"x"], 1).as_bytes(), Note(0).as_json()
    begun = range(0, MANY, 2)
    put_all(engine.store, [(layout.partial(job_id, "map", task), piece) for task in begun])
    put_all(engine.store, [(layout.trail(job_id, "map", task), note) for task in range(1010)])
    for stage in (stage_of(None), stage_of(Output(engine.store.bucket, layout.results(job_id), "pickle"))):
        keys = [
            stage.output.prefix + layout.part(task, "pickle")
            if stage.output
            else layout.shuffle_part(job_id, "map", task, MANY)
            for task in range(MANY)
            if task not in (5, 1098)
        ]
        put_all(engine.store, [(key, b"done") for key in keys])
        assert done_tasks(engine.store, engine.store, job_id, stage) == set(range(MANY)) - {5, 1098}
    left = leftovers.look(job_id, stage, engine.store)
    assert left.begun == {5, 1098}
    leftovers.hand_on(job_id, stage, 1, left, engine.store)
    told: Any = engine.store.get_json(layout.left(job_id, "map", 1))
    assert told == {"begun": [5, 1098], "others": []}
    # What belongs to tasks that are done is gone, so the next look reads no more than what is open.
    kept = [
        one.key
        for one in engine.store.list(layout.work(job_id))
        if "/partial/" in one.key or "/trail/" in one.key
    ]
    assert kept == [layout.partial(job_id, "map", 1098), layout.trail(job_id, "map", 5)]
    before = engine.store.requests["list"]
    assert leftovers.look(job_id, stage, engine.store) == left
    assert engine.store.requests["list"] - before == 2
