"""Ends that once were endless, or told the wrong thing: each is its own item's, or the job's with its reason."""

from __future__ import annotations

import os
import time
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import layout, spec
from bellwren.control import finish as finishing
from bellwren.options import Options
from bellwren.submission import make_document
from tests.engine.harness import Engine
from tests.engine.proxy import Fault, Proxy

PART = r"/results/part-"


def by_a_signal_without_a_name() -> None:
    os.kill(os.getpid(), 40)


def by_text_on_its_line() -> None:
    _write(b"hello world, this is not a frame at all")


def by_a_frame_of_a_length_that_nobody_has() -> None:
    _write(b"\x0c" + b"\xff" * 8 + b"hello")


def by_a_frame_too_short_for_its_head() -> None:
    _write(b"\x0c" + bytes(7) + b"\x01z")


def _write(data: bytes) -> None:
    for fd in range(3, 64):
        try:
            os.write(fd, data)
        except OSError:
            continue


@pytest.mark.parametrize(
    "end",
    [
        by_a_signal_without_a_name,
        by_text_on_its_line,
        by_a_frame_of_a_length_that_nobody_has,
        by_a_frame_too_short_for_its_head,
    ],
)
def test_an_item_that_spoils_its_line_or_ends_oddly_costs_itself_alone(engine: Engine, end: Any) -> None:
    def item(x: int) -> int:
        if x == 2:
            end()
        return x

    outcome = engine.map(item, range(5), workers=1, retries=0, tolerate=0.2, item_timeout_s=5.0)
    assert outcome.lost == 0
    assert outcome.plan["rounds"] == 1
    assert [index for index, (kind, _) in outcome.failures.items() if kind == "WorkerDied"] == [2]


def test_a_store_that_never_takes_an_output_ends_the_job_with_what_it_says(
    engine: Engine, proxy: Proxy
) -> None:
    with proxy.disturbed_by(Fault("refuse", PART + "000001", method="PUT", times=-1, status=403)):
        outcome = engine.map(lambda x: x, range(4), workers=1)
    assert outcome.status["status"] == "FAILED"
    error = outcome.status["error"]
    assert error["type"] == "NoProgress"
    assert "The workers failed: " in error["message"]
    assert "403" in error["message"]
    assert outcome.plan["rounds"] <= 4


def test_a_cancelled_job_ends_while_its_last_task_is_still_being_fetched(
    engine: Engine, proxy: Proxy
) -> None:
    cloud: Any = SimpleNamespace(jobs_store=engine.store)
    items = [bytes([number]) * 1_000_000 for number in range(2)]
    document = make_document("map", {"map": len}, items, Options.of({"workers": 1, "retries": 0}), cloud)
    name = f"job-{uuid.uuid4().hex[:12]}"
    path = document["items_payload"]["key"] + r"($|\?)"
    began = time.monotonic()
    with proxy.disturbed_by(Fault("delay", path, method="GET", skip=1, seconds=4.0)):
        outcome = engine.execute(
            {"spec": spec.from_dict(document).to_dict()},
            name,
            timeout_s=40.0,
            lives=1,
            before_round=lambda _: engine.cancel_after(name, 1.0),
        )
    assert outcome.status["status"] == "CANCELLED"
    assert outcome.lost == 0
    assert time.monotonic() - began < 30, "it waited for its own end"


def test_items_that_are_others_than_those_submitted_end_the_job(engine: Engine) -> None:
    cloud: Any = SimpleNamespace(jobs_store=engine.store)
    options = Options.of({"workers": 1})
    document = make_document("map", {"map": str.upper}, ["good", "bbbb"], options, cloud)
    other = make_document("map", {"map": str.upper}, ["evil", "bbbb"], options, cloud)

    def swap(_: Any) -> None:
        evil = engine.store.get(other["items_payload"]["key"])
        engine.store.put(document["items_payload"]["key"], evil)

    outcome = engine.execute(
        {"spec": spec.from_dict(document).to_dict()}, f"job-{uuid.uuid4().hex[:12]}", before_round=swap
    )
    assert outcome.status["status"] == "FAILED"
    assert outcome.status["error"]["type"] == "InputError"
    assert "changed while the job ran" in outcome.status["error"]["message"]


def test_results_that_do_not_fit_into_a_worker_end_the_job_by_their_right_name(engine: Engine) -> None:
    # Sixteen tasks of 13 items, each with 8 MB: more than a worker of 128 MB holds.
    outcome = engine.map(lambda x: bytes(8 << 20), range(208), workers=1, memory_mb=128)
    assert outcome.lost == 0
    error = outcome.status["error"]
    assert (outcome.status["status"], error["type"]) == ("FAILED", "OutOfMemory")
    assert error["message"].startswith("the results of items 0 to 11 (task 0) take 96 MB, and a worker")


def test_tolerance_is_counted_alike_by_all_who_count_it(engine: Engine) -> None:
    def pairs(x: int) -> list[tuple[str, int]]:
        if x < 29:
            raise ValueError(x)
        return [("k", 1)]

    outcome = engine.map_reduce(pairs, range(100), lambda _, values: sum(values), workers=2, tolerate=0.29)
    assert outcome.result() == {"k": 71}


def test_the_error_and_the_failures_of_each_stage_stay_its_own(engine: Engine) -> None:
    def pairs(x: int) -> list[tuple[int, int]]:
        if x == 0:
            raise ValueError("tolerated in the map stage")
        return [(x % 3, 1)]

    def total(key: int, values: Any) -> int:
        raise KeyError("the true reason")

    outcome = engine.map_reduce(pairs, range(10), total, workers=1, tolerate=0.5)
    error = outcome.status["error"]
    assert error["type"] == "TaskError"
    assert "stage 'reduce'" in error["message"]
    assert "the true reason" in error["message"]
    assert outcome.status["failures"][0]["type"] == "KeyError"
    kept = list(engine.store.list(layout.errors(outcome.job_id)))
    assert len(kept) == outcome.status["failed"] == 4


def test_a_job_that_succeeded_has_done_so_even_if_its_working_keys_cannot_be_deleted(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    delete = finishing.Store.delete

    def broken(store: Any, keys: list[str]) -> None:
        if any(key.startswith(layout.WORK) for key in keys):
            raise RuntimeError("SlowDown")
        delete(store, keys)

    monkeypatch.setattr(finishing.Store, "delete", broken)
    outcome = engine.map(abs, [-1], workers=1)
    assert outcome.status["status"] == "SUCCEEDED"
    assert outcome.result() == [1]
    assert f"working keys of job {outcome.job_id} were left behind" in caplog.text
    assert "SlowDown" in caplog.text


def test_a_job_whose_page_cannot_be_made_has_ended_all_the_same_and_the_log_says_why(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: Any) -> bytes:
        raise ZeroDivisionError("a fault of the page")

    monkeypatch.setattr(finishing, "page", broken)
    outcome = engine.map(abs, [-1], workers=1)
    assert outcome.result() == [1]
    assert engine.store.head(layout.report(outcome.job_id)) is None
    assert f"the report of job {outcome.job_id} was not written" in caplog.text
    assert "a fault of the page" in caplog.text


def test_keys_that_are_equal_here_are_one_key_there(engine: Engine) -> None:
    def pairs(number: int) -> list[tuple[Any, int]]:
        import datetime
        import http

        method = ("GET", "PUT", "POST")[number % 3]
        hour = datetime.timezone(datetime.timedelta(hours=1))
        at = (datetime.time(12, tzinfo=datetime.UTC), datetime.time(13, tzinfo=hour))[number % 2]
        return [
            (http.HTTPMethod(method) if number % 2 else method, 1),
            (range(0, 3 + number % 2, 2), 1),
            (at, 1),
        ]

    outcome = engine.map_reduce(pairs, range(60), lambda _, values: sum(values), workers=3)
    assert sorted(outcome.result().values()) == [20, 20, 20, 60, 60]
