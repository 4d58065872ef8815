"""Read a job's results back from its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

from bellwren import layout
from bellwren.engine.commit import done_tasks, output_bucket, output_key
from bellwren.engine.stage import Stage
from bellwren.errors import TaskFailure
from bellwren.parts import failure_frames, read_part
from bellwren.payload.outcome import rebuild
from bellwren.store import Store

_PARALLEL = 16


class Results:
    """The parts of one job's last stage."""

    def __init__(
        self, jobs: Store, store: Callable[[str], Store], job_id: str, plan: dict[str, Any] | None
    ) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._pairs = (plan or {}).get("kind") == "map_reduce"
        last = (plan or {}).get("order", [None])[-1]
        document = (plan or {}).get("stages", {}).get(last)
        self._stage = Stage.from_dict(document) if document else None
        if self._stage:
            self._store = store(output_bucket(self._stage, jobs.bucket))

    def collect(self) -> Any:
        """Everything: a list in item order, or a dict of the keys of a reduce."""
        values = list(self._all())
        if self._pairs:
            return dict(_pair(value) for value in values if not isinstance(value, TaskFailure))
        return values

    def parts_there(self) -> set[int]:
        """Parts that are there now."""
        return done_tasks(self._store, self._job_id, self._stage) if self._stage else set()

    def numbered(self, part: int) -> Iterator[tuple[int, Any]]:
        """Results of one part with their index in the whole result."""
        first = self._firsts()[part]
        for offset, value in enumerate(self._read(part)):
            yield first + offset, value

    def exception_of(self, failure: TaskFailure) -> BaseException | None:
        """The user's own exception of a failed item, if it can be rebuilt."""
        if self._stage is None or self._stage.output is None:
            return None
        for part in sorted(self.parts_there()):
            data = self._store.get(output_key(self._job_id, self._stage, part))
            for encoded in failure_frames(self._stage.output.format, data):
                found, exception = rebuild(encoded)
                if (found.type, found.message) == (failure.type, failure.message):
                    return exception
        return None

    def _all(self) -> Iterator[Any]:
        if self._stage is None:
            return
        with ThreadPoolExecutor(_PARALLEL) as threads:
            for part in threads.map(self._read, range(self._stage.tasks)):
                yield from part

    def _read(self, part: int) -> list[Any]:
        assert self._stage is not None
        assert self._stage.output is not None
        data = self._store.get(output_key(self._job_id, self._stage, part))
        return list(read_part(self._stage.output.format, data))

    def _firsts(self) -> list[int]:
        """Index of the first result of each part."""
        assert self._stage is not None
        if self._stage.input["kind"] == "items":
            table = self._jobs.get_json(layout.tasks(self._job_id, self._stage.name))
            return [task[0] for task in table["items"]]
        counts = [len(self._read(part)) for part in range(self._stage.tasks)]
        return [0, *accumulate(counts)]


def _pair(value: Any) -> tuple[Any, Any]:
    return (value["key"], value["value"]) if isinstance(value, dict) else tuple(value)
