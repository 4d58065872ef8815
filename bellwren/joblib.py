"""A joblib backend: ``Parallel``, and so scikit-learn's ``n_jobs``, on a deployment.

::

    import bellwren.joblib
    import joblib

    bellwren.joblib.register()
    with joblib.parallel_config(backend="bellwren", n_jobs=-1, requirements=["scikit-learn"]):
        GridSearchCV(model, grid).fit(X, y)

joblib's batches are calls of an executor, so what is dispatched together travels as one job. Large arguments that
the batches share (the training data) travel once, with the function. What runs on a worker runs its own ``Parallel``
calls one after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import joblib
from joblib import register_parallel_backend
from joblib._parallel_backends import ParallelBackendBase, SequentialBackend

from bellwren.cloud import Cloud, connect
from bellwren.executor import Executor, Prepared, executor_options
from bellwren.options import Options

NAME = "bellwren"
SHARED_BYTES = 100_000
"""Arguments from this size on are looked for in every batch, and travel once."""

Task = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def register() -> None:
    """Make ``backend="bellwren"`` known to joblib.

    The backend takes the options of ``bellwren.Options``, and ``cloud``, a connection; by default
    ``bellwren.connect()``.
    """
    register_parallel_backend(NAME, Backend)


class Shared(NamedTuple):
    """Stands for a large argument that travels with the function."""

    number: int


class Batch:
    """What workers call: a batch of joblib's tasks, with the large arguments that all batches share."""

    def __init__(self, shared: Sequence[Any]) -> None:
        self._shared = tuple(shared)

    def __call__(self, tasks: Sequence[Task]) -> list[Any]:
        """Run the tasks one after the other."""
        with joblib.parallel_config(backend="sequential"):
            return [
                function(
                    *map(self._given, args), **{name: self._given(value) for name, value in kwargs.items()}
                )
                for function, args, kwargs in tasks
            ]

    def _given(self, value: Any) -> Any:
        return self._shared[value.number] if type(value) is Shared else value


class Backend(ParallelBackendBase):  # type: ignore[misc]
    """joblib's view of a deployment."""

    uses_threads = False
    supports_sharedmem = False
    supports_retrieve_callback = True

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        cloud: Cloud | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        executor_options(None, None, (), options)  # wrong options are told here, and not by the first batch
        self._options = {"name": "joblib", **options}
        self._cloud = cloud or connect()
        self._executor: Executor | None = None
        self._prepared: Prepared | None = None
        self._shared: dict[int, Any] = {}

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Workers that a call may have: all of the deployment's for -1, all but one for -2.

        At least two, unless one is asked for by ``n_jobs``: what joblib takes for one, it runs in this process.
        """
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        most = Options.of(self._options).workers
        most = self._cloud.deployment.max_workers if most == "auto" else most
        if n_jobs is None:
            return 1
        return max(min(n_jobs, most), min(n_jobs, 2)) if n_jobs > 0 else max(most + 1 + n_jobs, 2)

    def configure(
        self, n_jobs: int = 1, parallel: Any = None, prefer: Any = None, require: Any = None, **_: Any
    ) -> int:
        """Start afresh for one ``Parallel``; a positive ``n_jobs`` is the number of workers."""
        self.parallel = parallel
        given = dict(self._options)
        if n_jobs > 0 and given.get("workers", "auto") == "auto":
            given["workers"] = self.effective_n_jobs(n_jobs)
        self._executor = Executor(self._cloud, executor_options(None, None, (), given))
        return self.effective_n_jobs(n_jobs)

    def start_call(self) -> None:
        """Forget what the batches of the call before shared."""
        self._prepared = None
        self._shared = {}

    def submit(self, func: Any, callback: Callable[[Future[Any]], Any] | None = None) -> Future[Any]:
        """Start one batch; the callback is called with its future."""
        assert self._executor is not None
        tasks: list[Task] = func.items
        if self._prepared is None:
            self._shared = {id(value): value for value in _large(tasks)}
            self._prepared = self._executor.prepare(Batch(list(self._shared.values())))
        numbers = {key: Shared(number) for number, key in enumerate(self._shared)}

        def shared(value: Any) -> Any:
            return numbers.get(id(value), value)

        lean = [
            (function, tuple(map(shared, args)), {name: shared(value) for name, value in kwargs.items()})
            for function, args, kwargs in tasks
        ]
        future = self._prepared.submit(lean)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """The batch's results, or its exception."""
        return out.result()

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """A worker has one processor for each of its runners: nothing is to be gained by more."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel the batches that have not started."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)
            self.start_call()

    def terminate(self) -> None:
        """No further batch comes."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None


def _large(tasks: Sequence[Task]) -> list[Any]:
    """Arguments so large that they are worth to be sent once: those of arrays and tables are told at once."""
    found: dict[int, Any] = {}
    for _, args, kwargs in tasks:
        for value in (*args, *kwargs.values()):
            if _size_bytes(value) >= SHARED_BYTES:
                found[id(value)] = value
    return list(found.values())


def _size_bytes(value: Any) -> int:
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    usage = getattr(value, "memory_usage", None)  # of a table of pandas
    if callable(usage):
        return int(sum(usage(index=True)) if hasattr(value, "columns") else usage())
    parts = [getattr(value, name, None) for name in ("data", "indices", "indptr")]  # of a sparse matrix
    inner = [int(getattr(part, "nbytes", 0)) for part in parts]
    return sum(inner) if any(inner) else sys.getsizeof(value, 0)
