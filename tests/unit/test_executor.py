"""The executor behaves as those of the standard library.

The behaviour is that of CPython's own tests (``test_concurrent_futures``), as far as it applies to an executor whose
workers are elsewhere; what is Bellwren's own comes at the end.
"""

from __future__ import annotations

import concurrent.futures
import gc
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from fake_cloud import FakeCloud, Workers

import bellwren
from bellwren.executor import QUIET_S, Executor, executor_options


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    processes = Workers()
    yield processes
    processes.close()


@pytest.fixture
def cloud(workers: Workers) -> FakeCloud:
    return FakeCloud(workers)


@pytest.fixture
def executor(cloud: FakeCloud) -> Iterator[Executor]:
    made = new_executor(cloud)
    yield made
    made.shutdown(wait=True)


def new_executor(cloud: Any, max_workers: int | None = None, **options: Any) -> Executor:
    return Executor(cloud, executor_options(max_workers, None, (), options))


def submit_now(executor: Executor, function: Any, *arguments: Any) -> concurrent.futures.Future[Any]:
    """Submit a call that travels alone."""
    future = executor.submit(function, *arguments)
    while not future.running() and not future.done():
        time.sleep(QUIET_S / 10)
    return future


def submit_slow(executor: Executor, gate: Path) -> concurrent.futures.Future[Any]:
    """Submit a call that ends once there is something at ``gate``."""

    def wait() -> None:
        while not gate.exists():
            time.sleep(0.01)

    return submit_now(executor, wait)


# --- submit ---


def test_submit(executor: Executor) -> None:
    assert executor.submit(pow, 2, 8).result() == 256


def test_submit_with_keywords_of_any_name(executor: Executor) -> None:
    def capture(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    assert executor.submit(capture, 1, self=2, fn=3).result() == ((1,), {"self": 2, "fn": 3})
    with pytest.raises(TypeError):
        executor.submit(fn=capture, arg=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        executor.submit(arg=1)  # type: ignore[call-arg]


def test_a_call_that_fails_raises_the_users_own_exception(executor: Executor) -> None:
    future = executor.submit(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        future.result()
    assert isinstance(future.exception(), ZeroDivisionError)
    assert any("On the worker" in note for note in future.exception().__notes__)


def test_an_exception_that_is_false_is_raised_all_the_same(executor: Executor) -> None:
    class FalseExceptionError(Exception):
        def __bool__(self) -> bool:
            return False

    def fail() -> None:
        raise FalseExceptionError("very false")

    future = executor.submit(fail)
    with pytest.raises(bellwren.TaskError, match="very false") as raised:
        future.result()
    assert isinstance(raised.value.__cause__, FalseExceptionError)


def test_what_would_end_the_client_does_not(executor: Executor) -> None:
    def leave(code: Any) -> None:
        raise SystemExit(code)

    error = executor.submit(leave, 7).exception()
    assert isinstance(error, bellwren.TaskError)
    assert isinstance(error.__cause__, SystemExit)
    assert error.__cause__.code == 7


def test_callbacks_are_called_with_the_future(executor: Executor) -> None:
    called: list[Any] = []
    future = executor.submit(abs, -3)
    future.add_done_callback(called.append)
    assert future.result() == 3
    until = time.monotonic() + 5
    while not called and time.monotonic() < until:
        time.sleep(0.01)
    assert called == [future]


# --- map ---


def test_map(executor: Executor) -> None:
    assert list(executor.map(pow, range(10), range(10))) == list(map(pow, range(10), range(10)))
    assert list(executor.map(pow, range(10), range(3), chunksize=3)) == [1, 1, 4]
    assert list(executor.map(abs, [])) == []


def test_map_gives_results_up_to_the_first_exception(executor: Executor) -> None:
    results = executor.map(divmod, [1, 1, 1, 1], [2, 3, 0, 5])
    assert next(results) == (0, 1)
    assert next(results) == (0, 1)
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_map_times_out(executor: Executor) -> None:
    assert list(executor.map(time.sleep, [0, 0], timeout=60)) == [None, None]
    results = executor.map(time.sleep, [0, 3], timeout=1)
    assert next(results) is None
    with pytest.raises(concurrent.futures.TimeoutError):
        next(results)


def test_map_refuses_a_chunksize_below_one(executor: Executor) -> None:
    with pytest.raises(ValueError, match="chunksize must be >= 1"):
        executor.map(abs, [1], chunksize=0)


def test_map_reads_its_iterables_at_once(executor: Executor) -> None:
    taken = []

    def source() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number

    results = executor.map(abs, source())
    assert taken == [0, 1, 2]
    assert list(results) == [0, 1, 2]


# --- as_completed, wait ---


def test_as_completed(executor: Executor, tmp_path: Path) -> None:
    slow, fast = submit_slow(executor, tmp_path / "gate"), submit_now(executor, abs, -1)
    completed = concurrent.futures.as_completed([slow, fast, fast])
    assert next(completed) is fast
    (tmp_path / "gate").touch()
    assert list(completed) == [slow]
    with pytest.raises(concurrent.futures.TimeoutError, match=r"1 \(of 1\) futures unfinished"):
        list(concurrent.futures.as_completed([executor.submit(time.sleep, 1)], timeout=0))


def test_wait_for_the_first_the_first_exception_and_all(executor: Executor, tmp_path: Path) -> None:
    slow, fast = submit_slow(executor, tmp_path / "gate"), submit_now(executor, abs, -1)
    done, pending = concurrent.futures.wait([slow, fast], return_when=concurrent.futures.FIRST_COMPLETED)
    assert (done, pending) == ({fast}, {slow})
    failing = submit_now(executor, divmod, 1, 0)
    done, pending = concurrent.futures.wait([slow, failing], return_when=concurrent.futures.FIRST_EXCEPTION)
    assert (done, pending) == ({failing}, {slow})
    (tmp_path / "gate").touch()
    done, pending = concurrent.futures.wait([slow, fast, failing])
    assert (done, pending) == ({slow, fast, failing}, set())
    late = executor.submit(time.sleep, 1)
    done, pending = concurrent.futures.wait([fast, late], timeout=0.2)
    assert (done, pending) == ({fast}, {late})


# --- cancel ---


def test_a_future_is_cancelled_until_its_call_has_started(cloud: FakeCloud, executor: Executor) -> None:
    waiting = executor.submit(abs, -1)
    assert waiting.cancel()
    assert waiting.cancelled()
    with pytest.raises(CancelledError):
        waiting.result()
    running = submit_now(executor, time.sleep, 0.3)
    assert running.running()
    assert not running.cancel()
    assert running.result() is None
    assert cloud.started == [1]


# --- shutdown ---


def test_nothing_is_taken_after_shutdown(cloud: FakeCloud) -> None:
    executor = new_executor(cloud)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        executor.submit(pow, 2, 5)
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        executor.map(abs, [1])
    executor.shutdown()


def test_shutdown_waits_for_what_was_submitted(cloud: FakeCloud) -> None:
    with new_executor(cloud) as executor:
        futures = [executor.submit(time.sleep, 0.1) for _ in range(5)]
    assert all(future.done() for future in futures)
    executor = new_executor(cloud)
    future = executor.submit(time.sleep, 0.2)
    executor.shutdown(wait=False)
    assert not future.done()
    assert future.result(timeout=10) is None


def test_shutdown_cancels_what_has_not_started(cloud: FakeCloud) -> None:
    executor = new_executor(cloud)
    running = submit_now(executor, time.sleep, 0.2)
    waiting = [executor.submit(abs, -1) for _ in range(3)]
    executor.shutdown(wait=True, cancel_futures=True)
    assert running.result() is None
    assert all(future.cancelled() for future in waiting)


def test_ctrl_c_says_which_jobs_are_waited_for(
    cloud: FakeCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with new_executor(cloud) as executor:
        submit_now(executor, abs, -1).result(timeout=10)
    with pytest.raises(KeyboardInterrupt), new_executor(cloud) as executor:  # noqa: PT012
        submit_slow(executor, tmp_path / "gate")
        threading.Timer(0.2, (tmp_path / "gate").touch).start()
        raise KeyboardInterrupt
    assert capsys.readouterr().err == f"job job-{len(cloud.started)} goes on\n"


def test_a_callback_may_shut_the_executor_down(cloud: FakeCloud) -> None:
    executor = new_executor(cloud)
    future = executor.submit(abs, -1)
    future.add_done_callback(lambda _: executor.shutdown(wait=True))
    assert future.result(timeout=10) == 1
    executor.shutdown(wait=True)


def test_submits_and_shutdown_may_race(cloud: FakeCloud) -> None:
    executor = new_executor(cloud)
    futures: list[Any] = []

    def submit() -> None:
        try:
            while True:
                futures.append(executor.submit(abs, -1))
        except RuntimeError:
            return

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    executor.shutdown(wait=True)
    for thread in threads:
        thread.join()
    assert futures
    assert {future.result(timeout=0) for future in futures} == {1}


# --- references ---


def test_results_and_arguments_are_not_kept(executor: Executor) -> None:
    class Thing:
        def __call__(self) -> Any:
            return Thing()

    thing = Thing()
    gone = threading.Event()
    reference = weakref.ref(thing, lambda _: gone.set())
    future = executor.submit(thing)
    result = weakref.ref(future.result())
    del thing, future
    until = time.monotonic() + 5
    while (reference() or result()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
    assert gone.is_set()
    assert result() is None


# --- what is Bellwren's own ---


def test_submits_that_come_soon_one_after_the_other_travel_together(cloud: FakeCloud) -> None:
    with new_executor(cloud) as executor:
        futures = [executor.submit(lambda x: x * x, number) for number in range(300)]
        assert [future.result() for future in futures] == [number * number for number in range(300)]
    assert sum(cloud.started) == 300
    assert len(cloud.started) < 10


def test_a_map_travels_as_one_job_and_is_named_after_its_function(cloud: FakeCloud) -> None:
    with new_executor(cloud, 3, retries=1) as executor:
        assert list(executor.map(str.upper, ["a", "b"])) == ["A", "B"]
    assert cloud.started == [2]
    assert cloud.names == ["str.upper"]
    assert (cloud.options[0].workers, cloud.options[0].retries) == (3, 1)


def test_a_call_is_what_it_was_when_it_was_submitted(executor: Executor) -> None:
    futures = []
    items = [0]
    for k in range(3):
        items[0] = k
        futures.append(executor.submit(lambda xs: (k, list(xs)), items))
    k = 99
    items[0] = 99
    assert [future.result() for future in futures] == [(k, [k]) for k in range(3)]


def test_calls_of_many_functions_share_a_job_and_each_has_its_own_state(cloud: FakeCloud) -> None:
    class Counter:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self) -> int:
            self.calls += 1
            return self.calls

    counter = Counter()
    with new_executor(cloud) as executor:
        futures = [executor.submit(lambda x=x: x) for x in range(20)]
        counts = [executor.submit(counter) for _ in range(5)]
        assert [future.result() for future in futures] == list(range(20))
        assert [future.result() for future in counts] == [1] * 5
    assert len(cloud.started) <= 3


def test_a_function_that_several_calls_share_travels_once(cloud: FakeCloud) -> None:
    big = bytes(2_000_000)
    with new_executor(cloud) as executor:
        assert list(executor.map(lambda i: len(big) + i, range(5))) == [2_000_000 + i for i in range(5)]


def test_what_cannot_be_shipped_is_refused_by_submit_itself(executor: Executor) -> None:
    guard = threading.Lock()
    with pytest.raises(bellwren.PayloadError, match="guard"):
        executor.submit(lambda: guard)
    with pytest.raises(bellwren.PayloadError, match="lock"):
        executor.submit(abs, guard)
    assert executor.submit(abs, -1).result() == 1


def test_a_result_that_cannot_be_shipped_fails_its_call_alone(executor: Executor) -> None:
    bad, good = executor.submit(threading.Lock), executor.submit(abs, -1)
    with pytest.raises(bellwren.PayloadError, match="result not serialisable"):
        bad.result()
    assert good.result() == 1


def test_a_job_that_cannot_start_fails_its_calls_and_no_later_ones(
    cloud: FakeCloud, executor: Executor
) -> None:
    cloud.broken = bellwren.JobFailed("the service is away")
    futures = [executor.submit(abs, -1) for _ in range(3)]
    for future in futures:
        with pytest.raises(bellwren.JobFailed, match="away"):
            future.result(timeout=10)
    cloud.broken = None
    assert executor.submit(abs, -1).result(timeout=10) == 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"initializer": print}, "initializer"),
        ({"initargs": (1,)}, "initargs"),
        ({"tolerate": 0.5}, "tolerate"),
        ({"max_workers": 0}, "workers"),
        ({"max_workers": -1}, "workers"),
        ({"max_workers": 2, "workers": 3}, "max_workers"),
        ({"mp_context": None}, "mp_context"),
    ],
)
def test_what_an_executor_does_not_take_is_named(arguments: dict[str, Any], field: str) -> None:
    given = dict(arguments)
    with pytest.raises(bellwren.SpecError) as raised:
        executor_options(
            given.pop("max_workers", None), given.pop("initializer", None), given.pop("initargs", ()), given
        )
    assert [fault.field for fault in raised.value.faults] == [field]


def test_a_prepared_function_is_packed_once_and_its_calls_bring_what_they_need(
    cloud: FakeCloud, executor: Executor
) -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    factor = [10]
    prepared = executor.prepare(lambda point: Point(point.x * factor[0]))
    factor[0] = 99
    futures = [prepared.submit(Point(number)) for number in range(5)]
    assert [future.result().x for future in futures] == [0, 10, 20, 30, 40]
    assert isinstance(futures[0].result(), Point)
    assert sum(cloud.started) == 5
