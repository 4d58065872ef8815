"""A warm map of trivial items, from submit to result, and where its time goes."""

from __future__ import annotations

from typing import Any

from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed

_ITEMS = 100
_RUNS = 5


def run() -> list[Row]:
    """100 trivial items on 2 workers, and one item on one."""
    rows = []
    for items, workers in ((1, 1), (_ITEMS, 2)):
        warm = WarmMap(items, workers)
        warm.run()
        total_s, spread = median_of([timed(warm.run) for _ in range(_RUNS)])
        what = f"{items} trivial item(s), {workers} worker(s)"
        bar, met = ("< 1.0 s", total_s < 1.0) if items == 1 else ("", None)
        rows.append(Row("warm_map", f"{what}: submit to result", total_s, "s", bar, met, spread))
        inside, _ = median_of([record["runtime_s"] for record in warm.records])
        stage, _ = median_of([record["compute_s"] for record in warm.records])
        rows.append(Row("warm_map", f"{what}: of it Prepare to Finish", inside, "s"))
        rows.append(Row("warm_map", f"{what}: of it workers at work", stage, "s"))
    return rows


class WarmMap:
    """One map, to be run again and again."""

    def __init__(self, items: int, workers: int) -> None:
        self._items = items
        self._workers = workers
        self.records: list[dict[str, Any]] = []

    def run(self) -> None:
        job = deployed().map(abs, range(self._items), workers=self._workers, progress=False)
        assert job.result() == list(range(self._items))
        self.records.append(job.record or {})
