"""Read a job's results back from its parts, whole or as they appear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate
from typing import Any, Generic, TypeVar

from bellwren import framing, layout
from bellwren.engine.commit import done_tasks, output_bucket, output_key
from bellwren.engine.stage import Stage
from bellwren.errors import BellwrenError, TaskFailure
from bellwren.framing import Frame, Kind
from bellwren.parts import read_part
from bellwren.payload.failure import decode_failure
from bellwren.payload.outcome import rebuild, value_of
from bellwren.raw import RawForm
from bellwren.store import Store

T = TypeVar("T")

_PARALLEL = 16


class Results:
    """The parts of one job's last stage."""

    def __init__(
        self, jobs: Store, store: Callable[[str], Store], job_id: str, plan: dict[str, Any] | None
    ) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._pairs = (plan or {}).get("kind") == "map_reduce"
        self._single = (plan or {}).get("kind") == "parameter_server"
        last = (plan or {}).get("order", [None])[-1]
        document = (plan or {}).get("stages", {}).get(last)
        self.stage = Stage.from_dict(document) if document else None
        """The stage whose outputs are the results; None where the job has not come so far."""
        if self.stage:
            self._store = store(output_bucket(self.stage, jobs.bucket))

    def collect(self) -> Any:
        """Everything: a list in item order, or a dict of the keys of a reduce."""
        values = list(self._all())
        if self._pairs:
            pairs = [value for value in values if not isinstance(value, TaskFailure)]
            found = dict(pairs)
            if len(found) != len(pairs):
                raise BellwrenError(
                    f"{len(pairs) - len(found)} key(s) of job {self._job_id} equal another key here, which the workers "
                    "told apart; iter_results() gives all pairs"
                )
            return found
        return values[0] if self._single and values else values

    def parts_there(self) -> set[int]:
        """Parts that are there now."""
        return done_tasks(self._store, self._jobs, self._job_id, self.stage) if self.stage else set()

    def values(self, part: int, first: int) -> list[Any]:
        """The results of one part; the first of them has the index ``first`` in the whole result."""
        return self._decoded(part, self._read(part), first)

    def frames(self, part: int, _first: int = 0) -> list[Frame]:
        """The results of one part of format ``pickle``, as they were written."""
        return list(framing.read_frames([self._read(part)], name=self._name(part)))

    def firsts(self) -> Sequence[int] | None:
        """Index of the first result of each part; None where that is known only by reading the parts before it."""
        if self.stage is None:
            return None
        counts = self._jobs.find_json(layout.parts(self._job_id))
        if counts is not None:  # the job has ended
            return list(accumulate(counts["counts"], initial=0))
        if self.stage.input["kind"] not in ("items", "results") or self._is_builtin:
            return None  # a built-in algorithm may give any number of results for an item
        table = self._jobs.get_json(layout.tasks(self._job_id, self.stage.name))
        return (
            [first for first, *_ in table["items"]]
            if "items" in table
            else [row[1] for row in table["parts"]]
        )

    def exception_of(self, failure: TaskFailure) -> BaseException | None:
        """The user's own exception of a failed item, if it is among the results and can be rebuilt."""
        if self.stage is None or self._format != "pickle":
            return None
        for part in sorted(self.parts_there()):
            for frame in self.frames(part):
                if frame.kind is Kind.FAILURE:
                    found, exception = rebuild(frame.data)
                    if (found.type, found.message) == (failure.type, failure.message):
                        return exception
        return None

    @property
    def _is_builtin(self) -> bool:
        assert self.stage is not None
        return any("builtin" in reference for reference in self.stage.functions.values())

    @property
    def _format(self) -> Any:
        assert self.stage is not None
        assert self.stage.output is not None
        return self.stage.output.format

    def _all(self) -> Iterator[Any]:
        if self.stage is None:
            return
        first = 0
        with ThreadPoolExecutor(_PARALLEL) as threads:
            # Parts are fetched side by side, and unpickled one after the other: that is Python's own work.
            for part, data in enumerate(threads.map(self._read, range(self.stage.tasks))):
                values = self._decoded(part, data, first)
                first += len(values)
                yield from values

    def _decoded(self, part: int, data: bytes, first: int) -> list[Any]:
        if self._format == "pickle":
            frames = framing.read_frames([data], name=self._name(part))
            return [_value(frame, index) for index, frame in enumerate(frames, first)]
        if self._format == "raw":
            assert self.stage is not None
            return RawForm(**self.stage.sort["raw"]).decode(data)
        found = enumerate(read_part(self._format, data, name=self._name(part)), first)
        return [self._from_json(value, index) for index, value in found]

    def _from_json(self, value: Any, index: int) -> Any:
        if isinstance(value, TaskFailure):
            return replace(value, index=index)
        return (_key(value["key"]), value["value"]) if self._pairs else value

    def _read(self, part: int) -> bytes:
        assert self.stage is not None
        return self._store.get(output_key(self._job_id, self.stage, part))

    def _name(self, part: int) -> str:
        assert self.stage is not None
        return f"s3://{self._store.bucket}/{output_key(self._job_id, self.stage, part)}"


def _value(frame: Frame, index: int) -> Any:
    if frame.kind is Kind.FAILURE:
        # A task over records knows only its own positions.
        return replace(decode_failure(frame.data)[0], index=index)
    return value_of(frame, index=index)


def _key(key: Any) -> Any:
    """A key as it was before JSON made an array of a tuple."""
    return tuple(map(_key, key)) if isinstance(key, list) else key


class Arrivals(Generic[T]):
    """The parts of a job as they appear, each once."""

    def __init__(self, read: Callable[[Results, int, int], list[T]]) -> None:
        """``read(results, part, first)`` gives the results of one part, of which the first has the index ``first``."""
        self._read = read
        self._seen: set[int] = set()
        self._next = 0

    def fresh(self, results: Results) -> Iterator[tuple[int, T]]:
        """Results that have appeared since the last call, with their index in the whole result.

        Where an index depends on how many results earlier parts hold, a part waits for those before it.
        """
        there = results.parts_there() - self._seen
        firsts = results.firsts() if there else None
        if firsts is not None:
            for part in sorted(there):
                self._seen.add(part)
                yield from enumerate(self._read(results, part, firsts[part]), firsts[part])
            return
        while (part := len(self._seen)) in there:
            found = self._read(results, part, self._next)
            first, self._next = self._next, self._next + len(found)
            self._seen.add(part)
            yield from enumerate(found, first)
