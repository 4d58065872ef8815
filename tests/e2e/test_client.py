"""The client's promise: ``[fn(x) for x in xs]`` becomes ``cloud.map(fn, xs)``, and nothing else changes."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bellwren
from bellwren import Cloud, TaskFailure

QUIET = {"progress": False, "workers": 2}


def outcome_of(call: Callable[[], Any]) -> Any:
    """What a call gives, an exception included: for threads."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001  that is what it is for
        return error


def test_results_are_in_item_order_and_none_keeps_its_place(cloud: Cloud) -> None:
    def half(x: int) -> int | None:
        return None if x % 2 else x // 2

    assert cloud.map(half, range(101), **QUIET).result() == [half(x) for x in range(101)]


def test_no_item_is_no_work(cloud: Cloud) -> None:
    job = cloud.map(abs, [], **QUIET)
    assert job.result() == []
    assert list(job.iter_results()) == []
    assert job.status()["progress"]["total"] in (0, None)
    assert cloud.map_reduce(lambda x: [(x, 1)], [], lambda key, values: sum(values), **QUIET).result() == {}


def test_one_item(cloud: Cloud) -> None:
    assert cloud.map(abs, [-1], **QUIET).result() == [1]


def test_twelve_thousand_items(cloud: Cloud) -> None:
    job = cloud.map(lambda x: (x, str(x)), range(12_000), **QUIET)
    assert job.result() == [(x, str(x)) for x in range(12_000)]


def test_map_reduce_gives_a_dict_and_values_come_in_item_order(cloud: Cloud) -> None:
    def pairs(word: str) -> Iterator[tuple[Any, str]]:
        yield len(word), word
        yield ("first", word[0]), word

    job = cloud.map_reduce(pairs, ["one", "two", "three", "four"], lambda key, values: list(values), **QUIET)
    assert job.result() == {
        3: ["one", "two"],
        5: ["three"],
        4: ["four"],
        ("first", "o"): ["one"],
        ("first", "t"): ["two", "three"],
        ("first", "f"): ["four"],
    }
    found = dict(value for _, value in job.iter_results())
    assert found == job.result()


def test_a_combiner_changes_nothing_but_the_traffic(cloud: Cloud) -> None:
    def total(key: Any, values: Iterator[int]) -> int:
        return sum(values)

    job = cloud.map_reduce(lambda x: [(x % 3, x)], range(60), total, combine=total, **QUIET)
    assert job.result() == {rest: sum(range(rest, 60, 3)) for rest in range(3)}


def test_options_reach_the_job(cloud: Cloud) -> None:
    import os

    job = cloud.map(
        lambda _: os.environ.get("GREETING"),
        [1],
        name="Greeting ü",
        algorithm="greet",
        env={"GREETING": "hello ✓"},
        context={"dataset": "none"},
        memory_mb=512,
        **QUIET,
    )
    assert job.result() == ["hello ✓"]
    assert job.name == "Greeting ü"
    assert job.id.startswith("greeting-u-")
    status = job.status()
    assert (status["algorithm"], status["memory_mb"], status["workers"]) == ("greet", 512, 1)
    assert job.record is not None
    assert job.record["context"]["dataset"] == "none"
    assert job.cost_usd is not None
    assert job.cost_usd > 0
    assert job.forecast is not None
    assert os.environ.get("GREETING") is None


def test_wrong_options_are_named_before_anything_is_uploaded(cloud: Cloud) -> None:
    with pytest.raises(bellwren.SpecError, match="did you mean 'tolerate'"):
        cloud.map(abs, [1], tolerance=0.5)
    before = {entry.key for entry in cloud.jobs_store.list("code/")}
    marker = uuid.uuid4().hex
    with pytest.raises(bellwren.SpecError) as raised:
        cloud.map(lambda x: (x, marker), [1], workers=-1, tolerate=2, env={"A": 1}, retries="two")
    assert {fault.field for fault in raised.value.faults} == {"workers", "tolerate", "env.A", "retries"}
    assert {entry.key for entry in cloud.jobs_store.list("code/")} == before


def test_failures_within_tolerance_stand_in_their_places(cloud: Cloud) -> None:
    def odd_only(x: int) -> int:
        if x % 10 == 3:
            raise ValueError(f"bad input {x}")
        return x

    job = cloud.map(odd_only, range(20), tolerate=0.1, **QUIET)
    result = job.result()
    assert [one for one in result if not isinstance(one, TaskFailure)] == [
        x for x in range(20) if x % 10 != 3
    ]
    for index in (3, 13):
        assert isinstance(result[index], TaskFailure)
        assert result[index].index == index
        assert (result[index].type, result[index].message) == ("ValueError", f"bad input {index}")
        assert "odd_only" in result[index].traceback
        assert result[index].item == str(index)
    assert job.failures() == [result[3], result[13]]
    assert job.exception() is None
    assert "bad input 13" in job._repr_html_()


def test_more_failures_than_tolerated_raise_the_users_own_exception(cloud: Cloud) -> None:
    class Unlucky(Exception):
        def __init__(self, number: int, *, why: str) -> None:
            super().__init__(f"{number}: {why}")
            self.number = number

    def refuse(x: int) -> int:
        if x in (2, 4):
            raise Unlucky(x, why="even")
        return x

    job = cloud.map(refuse, range(5), **QUIET)
    with pytest.raises(bellwren.TaskError, match="item 2 failed with Unlucky: 2: even") as raised:
        job.result()
    assert raised.value.index == 2
    assert "and 1 more item(s) failed" in str(raised.value)
    assert "raise Unlucky" in raised.value.remote_traceback
    assert isinstance(raised.value.__cause__, Unlucky)
    assert raised.value.__cause__.number == 2
    assert [failure.index for failure in job.failures()] == [2, 4]
    assert isinstance(job.exception(), bellwren.TaskError)
    arriving = job.iter_results()
    finished = dict(itertools.islice(arriving, 5))
    assert {index: value for index, value in finished.items() if index not in (2, 4)} == {0: 0, 1: 1, 3: 3}
    with pytest.raises(bellwren.TaskError):
        next(arriving)


@pytest.mark.parametrize("stage", ["map", "reduce"])
def test_an_exception_of_either_stage_comes_back_as_itself(cloud: Cloud, stage: str) -> None:
    def pairs(x: int) -> list[tuple[int, int]]:
        if stage == "map" and x == 7:
            raise KeyError("in the map")
        return [(x % 2, x)]

    def total(key: int, values: Iterator[int]) -> int:
        if stage == "reduce" and key == 1:
            raise KeyError("in the reduce")
        return sum(values)

    with pytest.raises(bellwren.TaskError) as raised:
        cloud.map_reduce(pairs, range(10), total, **QUIET).result()
    assert isinstance(raised.value.__cause__, KeyError)
    assert raised.value.__cause__.args == (f"in the {stage}",)


def test_results_come_while_the_job_runs(cloud: Cloud) -> None:
    def slow(x: int) -> int:
        import time

        time.sleep(0.0 if x < 6 else 0.7)
        return x * x

    job = cloud.map(slow, range(8), progress=False, workers=1, memory_mb=1769)
    first = None
    found = {}
    for index, value in job.iter_results():
        if first is None:
            first = job.done()
        found[index] = value
    assert first is False
    assert found == {x: x * x for x in range(8)}


def test_a_wait_ends_in_time_in_any_thread_and_the_job_goes_on(cloud: Cloud) -> None:
    job = cloud.map(lambda x: time.sleep(2) or x, [1], **QUIET)
    began = time.monotonic()
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(outcome_of(lambda: job.result(timeout=0.5)))),
        threading.Thread(target=lambda: answers.append(outcome_of(lambda: job.wait(0.5)))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 2
    assert False in answers
    error = next(one for one in answers if isinstance(one, TimeoutError))
    assert job.id in str(error)
    assert "bellwren cancel" in str(error)
    assert job.result() == [1]


def test_prints_and_warnings_are_logs_by_task_bounded_and_harmless(cloud: Cloud) -> None:
    def talk(x: int) -> int:
        import os
        import warnings

        print(f"item {x} prints ✓")
        warnings.warn(f"item {x} warns", stacklevel=1)
        if x == 1:
            os.write(1, b"\xff\xfe no text, no line end")
        if x == 2:
            print("y" * 5_000_000)
        return x

    job = cloud.map(talk, range(3), **QUIET)
    assert job.result() == [0, 1, 2]
    logs = job.logs()
    assert sorted(logs) == [0, 1, 2]
    assert "item 0 prints ✓" in logs[0]
    assert "UserWarning: item 0 warns" in logs[0]
    assert "�� no text, no line end" in logs[1]
    assert "item 2 prints" in logs[2]
    assert "bytes left out" in logs[2]
    assert len(logs[2]) < 100_000


def test_cancel_stops_the_workers_that_run(cloud: Cloud) -> None:
    job = cloud.map(lambda x: time.sleep(300), range(4), **QUIET)
    while not job.status().get("progress", {}).get("total"):
        time.sleep(0.05)
    time.sleep(1.0)
    began = time.monotonic()
    said = job.cancel()
    assert time.monotonic() - began < 10
    assert "CANCELLED" in said
    assert "stopped" in said
    assert "2 of its 2 worker(s)" in said
    with pytest.raises(bellwren.JobCancelled):
        job.result()
    assert "had ended already" in job.cancel()
    assert cloud.map(lambda x: x + 1, [1], **QUIET).result() == [2]


def test_a_job_that_has_hardly_started_is_cancelled_too(cloud: Cloud) -> None:
    job = cloud.map(lambda x: time.sleep(300), [1], **QUIET)
    assert "CANCELLED" in job.cancel()
    with pytest.raises(bellwren.JobCancelled):
        job.result(timeout=60)


PROGRAM = """
import sys, bellwren
cloud = bellwren.connect()
if sys.argv[1] == "start":
    print(cloud.map(lambda x: {"square": x * x}, range(5), progress=False, workers=1).id)
else:
    job = cloud.job(sys.argv[1])
    print(job.name, job.result(), dict(job.iter_results()))
"""


def test_another_process_gets_the_same_result(cloud: Cloud) -> None:
    def program(argument: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, argument], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return done.stdout.strip()

    job_id = program("start")
    expected = [{"square": x * x} for x in range(5)]
    assert program(job_id) == f"<lambda> {expected} {dict(enumerate(expected))}"
    assert cloud.job(job_id).result() == expected
    assert job_id in [job.id for job in cloud.jobs()]


def test_an_unknown_job_is_named_with_where_to_look(cloud: Cloud) -> None:
    with pytest.raises(KeyError, match=r"no job 'nope'.*jobs\(\)"):
        cloud.job("nope")


def test_two_clients_at_once_do_not_disturb_each_other(cloud: Cloud) -> None:
    clients = [bellwren.connect(), bellwren.connect()]
    answers: dict[int, Any] = {}

    def use(number: int) -> None:
        def function(x: int) -> int:
            return x * 10 + number

        answers[number] = clients[number].map(function, range(20), name="same name", **QUIET).result()

    threads = [threading.Thread(target=use, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [x * 10 + number for x in range(20)] for number in range(2)}


def test_a_deployment_that_is_not_there_is_told_by_name(cloud: Cloud) -> None:
    with pytest.raises(bellwren.NotDeployed, match=r"stage 'nowhere'.*cdk deploy"):
        bellwren.connect(stage="nowhere")
    with pytest.raises(ValueError, match="local"):
        bellwren.connect("remote")


def test_a_document_with_faults_starts_nothing(cloud: Cloud, tmp_path: Any) -> None:
    path = tmp_path / "job.json"
    path.write_text('{"bellwren": 1, "algorithm": "wordcuont", "items": ["a"], "wrokers": 3}')
    with pytest.raises(bellwren.SpecError) as raised:
        cloud.submit(path)
    assert {fault.field for fault in raised.value.faults} >= {"algorithm", "wrokers"}
    path.write_text('{"bellwren": 1, "algorithm": "wordcount", "items": ["a b a"]}')
    assert cloud.submit(path, progress=False).result() == {"a": 2, "b": 1}


@pytest.mark.slow
def test_a_closure_of_200_mb_and_items_of_many_mb(cloud: Cloud) -> None:
    np = pytest.importorskip("numpy")
    big = np.arange(25_000_000, dtype=np.float64)

    def look(x: bytes) -> tuple[int, float, bytes]:
        return len(x), float(big[-1]), x[:1] * 3

    job = cloud.map(look, [b"a" * 20_000_000, b"b"], progress=False)
    assert job.result() == [(20_000_000, 24_999_999.0, b"aaa"), (1, 24_999_999.0, b"bbb")]
    before = {entry.key for entry in cloud.jobs_store.list("code/")}
    assert cloud.map(look, [b"c"], progress=False).result() == [(1, 24_999_999.0, b"ccc")]
    fresh = [entry.size for entry in cloud.jobs_store.list("code/") if entry.key not in before]
    assert sum(fresh) < 1_000_000
