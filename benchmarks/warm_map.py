"""A warm map of trivial items, from submit to result, and where its time goes."""

from __future__ import annotations

from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed

_ITEMS = 100
_RUNS = 5


def run() -> list[Row]:
    """100 trivial items on 2 workers, and one item on one."""
    cloud = deployed()
    rows = []
    for items, workers in ((1, 1), (_ITEMS, 2)):
        cloud.map(abs, range(items), workers=workers, progress=False).result()
        jobs = []

        def once(items: int = items, workers: int = workers) -> None:
            job = cloud.map(abs, range(items), workers=workers, progress=False)
            assert job.result() == list(range(items))
            jobs.append(job)

        total_s, spread = median_of([timed(once) for _ in range(_RUNS)])
        what = f"{items} trivial item(s), {workers} worker(s)"
        bar, met = ("< 1.0 s", total_s < 1.0) if items == 1 else ("", None)
        rows.append(Row("warm_map", f"{what}: submit to result", total_s, "s", bar, met, spread))
        records = [job.record for job in jobs]
        inside, _ = median_of([record["runtime_s"] for record in records])
        stage, _ = median_of([record["compute_s"] for record in records])
        rows.append(Row("warm_map", f"{what}: of it Prepare to Finish", inside, "s"))
        rows.append(Row("warm_map", f"{what}: of it workers at work", stage, "s"))
    return rows
