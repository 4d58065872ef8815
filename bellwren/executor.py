"""A ``concurrent.futures.Executor`` whose calls run as jobs.

Each call is pickled when it is submitted. Calls that are submitted one soon after the other travel together: when for
some milliseconds no further one came, or enough have gathered, they become the items of one job. So a thousand submits
cost about as much as a map of a thousand items, and one submit about as much as a map of one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bellwren.errors import Fault, JobFailed, SpecError, TaskError
from bellwren.framing import Frame, Kind
from bellwren.options import Options
from bellwren.payload.call import Call, pack_arguments, sharing
from bellwren.payload.outcome import rebuild, value_of
from bellwren.payload.pack import Payload, describe, pack
from bellwren.payload.pickler import Needs

if TYPE_CHECKING:
    from types import TracebackType

    from bellwren.cloud import Cloud
    from bellwren.job import Job

QUIET_S = 0.02
"""Calls start when so long no further one was submitted."""
GATHERED_CALLS = 10_000
GATHERED_BYTES = 64 << 20
"""Calls start too when so many, or so much of them, have gathered."""
GATHERED_S = 1.0
"""No call waits longer for others."""


@dataclass(frozen=True)
class _Waiting:
    """A call that is pickled and not yet started."""

    payload: Payload
    arguments: bytes
    needs: Needs
    """What the arguments refer to and the payload does not bring."""
    future: Future[Any]

    @property
    def size_bytes(self) -> int:
        return len(self.payload.data) + len(self.arguments)


class Executor(futures.Executor):
    """Runs calls on a deployment; ``cloud.executor()`` makes one.

    It behaves as those of the standard library: ``submit``, ``map``, ``shutdown``, ``with``, and its futures work with
    ``as_completed`` and ``wait``. A future can be cancelled until its call has started. A call that fails raises the
    user's own exception from ``result()``, with the remote traceback as a note; what would end the client
    (``SystemExit``, ``KeyboardInterrupt``) comes as a ``TaskError`` with that as its cause.

    >>> with cloud.executor() as executor:
    ...     future = executor.submit(pow, 2, 5)
    ...     list(executor.map(lambda x, y: x + y, [1, 2, 3], [10, 20, 30]))
    [11, 22, 33]
    >>> future.result()
    32
    """

    def __init__(self, cloud: Cloud, options: Options) -> None:
        """Use ``cloud.executor``."""
        self._cloud = cloud
        # A call that fails is its future's affair, and fails no other.
        self._options = replace(options, tolerate=1.0, progress=False)
        self._max_workers = options.workers if options.workers != "auto" else cloud.deployment.max_workers
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._waiting_bytes = 0
        self._gatherer: threading.Thread | None = None
        self._watchers: dict[threading.Thread, Job] = {}
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start ``fn(*args, **kwargs)``, all as it is now, and return its future at once.

        Raises:
            PayloadError: naming what of the function or the arguments cannot be shipped.
            RuntimeError: after ``shutdown``.
        """
        self._refuse_if_closed()
        needs = Needs()
        (arguments,) = pack_arguments([(args, kwargs)], needs)
        payload = pack(fn, needs=needs)
        return self._add([(payload, arguments)])[0]

    def prepare(self, fn: Callable[..., Any]) -> Prepared:
        """Pack a function once for many calls: as it is now, whatever becomes of it before they are submitted.

        >>> with cloud.executor() as executor:
        ...     square = executor.prepare(lambda x: x * x)
        ...     futures = [square.submit(x) for x in range(3)]
        >>> [future.result() for future in futures]
        [0, 1, 4]
        """
        return Prepared(self, pack(fn))

    def submit_packed(self, payload: Payload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[Any]:
        """As ``submit``, of a function that is packed already."""
        self._refuse_if_closed()
        needs = Needs()
        (arguments,) = pack_arguments([(args, kwargs)], needs)
        return self._add([(payload, arguments)], needs)[0]

    def map(
        self, fn: Callable[..., Any], *iterables: Any, timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """``map(fn, *iterables)`` with the calls made by the executor; results come in order.

        Args:
            fn: called with one value of each iterable.
            iterables: read to the end of the shortest, now.
            timeout: seconds from now after which waiting for a result raises ``TimeoutError``.
            chunksize: accepted and of no effect: calls travel together as it is.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        until = None if timeout is None else time.monotonic() + timeout
        self._refuse_if_closed()
        needs = Needs()
        arguments = pack_arguments(((args, {}) for args in zip(*iterables, strict=False)), needs)
        payload = pack(fn, needs=needs)
        return _in_order(self._add([(payload, one) for one in arguments]), until)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further calls.

        Args:
            wait: return when every call has ended.
            cancel_futures: cancel the calls that have not started; jobs that run go on to their end.
        """
        with self._changed:
            self._closed = True
            if cancel_futures:
                for one in self._waiting:
                    one.future.cancel()
            self._changed.notify_all()
        if wait:
            while threads := self._threads():
                for thread in threads:
                    thread.join()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for every call, as the standard library does; after Ctrl-C it is said what is waited for."""
        if kind is KeyboardInterrupt:
            with self._changed:
                jobs = list(self._watchers.values())
            for job in jobs:
                job.say_it_goes_on()
        self.shutdown(wait=True)

    def _add(self, calls: list[tuple[Payload, bytes]], needs: Needs | None = None) -> list[Future[Any]]:
        missing = needs or Needs()
        added = [_Waiting(payload, arguments, missing, Future()) for payload, arguments in calls]
        with self._changed:
            self._refuse_if_closed()
            self._waiting += added
            self._waiting_bytes += sum(one.size_bytes for one in added)
            if added and self._gatherer is None:
                # No daemon: what was submitted starts, and is waited for, even if the program ends here.
                self._gatherer = threading.Thread(target=self._gather, name="bellwren-executor")
                self._gatherer.start()
            self._changed.notify_all()
        return [one.future for one in added]

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _threads(self) -> list[threading.Thread]:
        with self._changed:
            running = [one for one in (self._gatherer, *self._watchers) if one is not None]
        return [one for one in running if one is not threading.current_thread()]

    def _gather(self) -> None:
        """Start what has gathered, again and again, until nothing is left."""
        while batch := self._next_batch():
            self._start(batch)

    def _next_batch(self) -> list[_Waiting]:
        with self._changed:
            count = -1
            until = time.monotonic() + GATHERED_S
            while count != len(self._waiting) and not self._is_enough() and time.monotonic() < until:
                count = len(self._waiting)
                self._changed.wait_for(lambda seen=count: len(self._waiting) != seen, QUIET_S)  # type: ignore[misc]
            batch, self._waiting = self._waiting[:GATHERED_CALLS], self._waiting[GATHERED_CALLS:]
            self._waiting_bytes = sum(one.size_bytes for one in self._waiting)
            if not batch:
                self._gatherer = None
            return batch

    def _is_enough(self) -> bool:
        return self._closed or len(self._waiting) >= GATHERED_CALLS or self._waiting_bytes >= GATHERED_BYTES

    def _start(self, batch: list[_Waiting]) -> None:
        """Start one job for the calls that were not cancelled."""
        batch = [one for one in batch if one.future.set_running_or_notify_cancel()]
        if not batch:
            return
        waiting = [one.future for one in batch]
        try:
            job = self._submit(batch)
        except Exception as error:  # noqa: BLE001  whatever it is, the futures tell it
            _fail(waiting, error)
            return
        watcher = threading.Thread(target=self._watch, args=(job, waiting), name=f"bellwren-{job.id}")
        with self._changed:
            self._watchers[watcher] = job
        watcher.start()

    def _submit(self, batch: list[_Waiting]) -> Job:
        function, shared = sharing(one.payload for one in batch)
        items = [
            Call(
                one.payload.sha256,
                None if one.payload.sha256 in shared else one.payload.data,
                one.arguments,
            )
            for one in batch
        ]
        names = {one.payload.name for one in batch}
        name = names.pop() if len(names) == 1 else "calls"
        needs = Needs()
        for one in batch:
            needs.update(one.needs)
        return self._cloud.run_calls(function, items, self._options, name, needs)

    def _watch(self, job: Job, waiting: list[Future[Any]]) -> None:
        try:
            for index, frame in job.arriving_frames():
                _settle(waiting[index], frame, index)
            error = job.exception() or JobFailed(f"job {job.id} ended and left this call without a result")
            _fail([one for one in waiting if not one.done()], error)
        except Exception as error:  # noqa: BLE001  as above
            _fail([one for one in waiting if not one.done()], error)
        finally:
            with self._changed:
                self._watchers.pop(threading.current_thread(), None)


class Prepared:
    """A function that is packed; ``Executor.prepare`` makes one."""

    def __init__(self, executor: Executor, payload: Payload) -> None:
        """Use ``Executor.prepare``."""
        self._executor = executor
        self._payload = payload

    def submit(self, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As ``Executor.submit`` of the function."""
        return self._executor.submit_packed(self._payload, args, kwargs)


def executor_options(
    max_workers: int | None, initializer: Any, initargs: Any, given: dict[str, Any]
) -> Options:
    """The options of an executor from its arguments.

    Raises:
        SpecError: naming each that is wrong.
    """
    faults = []
    if initializer is not None or initargs:
        allowed = (
            "nothing: workers come and go, and each call gets its function as it was shipped. Load what calls share "
            "when it is first used, in a function with functools.cache: a worker keeps it for its next calls"
        )
        name = "initializer" if initializer is not None else "initargs"
        faults.append(Fault(name, describe(initializer), allowed))
    if "tolerate" in given:
        faults.append(
            Fault(
                "tolerate", repr(given["tolerate"]), "nothing: a call that fails is its future's affair alone"
            )
        )
    if max_workers is not None and "workers" in given:
        faults.append(Fault("max_workers", f"{max_workers!r}, beside workers", "one of the two"))
    workers = given.get("workers", "auto") if max_workers is None else max_workers
    if workers != "auto" and (not isinstance(workers, int) or workers < 1):
        faults.append(Fault("workers", repr(workers), '"auto" or a whole number from 1'))
    if faults:
        raise SpecError(faults)
    return Options.of({**given, "workers": workers})


def _in_order(waiting: list[Future[Any]], until: float | None) -> Iterator[Any]:
    """Results in order; what nobody waits for any more is cancelled, as far as it can be."""
    waiting.reverse()
    try:
        while waiting:
            # Popped, so that a result that was handed over is not kept here too.
            left = None if until is None else until - time.monotonic()
            yield _result_of(waiting.pop(), left)
    finally:
        for future in waiting:
            future.cancel()


def _result_of(future: Future[Any], timeout: float | None) -> Any:
    try:
        return future.result(timeout)
    finally:
        future.cancel()
        del future  # an exception's traceback would keep this frame, and it the future


def _settle(future: Future[Any], frame: Frame, index: int) -> None:
    if frame.kind is Kind.FAILURE:
        future.set_exception(_exception_of(frame.data))
        return
    try:
        value = value_of(frame, index=index)
    except Exception as error:  # noqa: BLE001  a result that cannot be loaded here
        future.set_exception(error)
    else:
        future.set_result(value)


def _exception_of(data: bytes) -> BaseException:
    failure, exception = rebuild(data)
    if isinstance(exception, Exception) and _is_true(exception):
        if failure.traceback:
            exception.add_note(f"\nOn the worker:\n{failure.traceback}")
        return exception
    error = TaskError(failure)
    error.__cause__ = exception
    return error


def _is_true(exception: Exception) -> bool:
    """Futures before Python 3.14 take an exception that is false for none."""
    try:
        return bool(exception)
    except Exception:  # noqa: BLE001  the user's own __bool__
        return False


def _fail(waiting: list[Future[Any]], error: BaseException) -> None:
    for future in waiting:
        future.set_exception(error)
