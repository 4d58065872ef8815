"""1,000 trivial items on 4 warm workers, against 100 and against Lithops' localhost backend in the same run."""

from __future__ import annotations

import json

from benchmarks import peers
from benchmarks.cloud import deployed
from benchmarks.report import Row, median_of, timed
from benchmarks.warm_map import WarmMap

_LITHOPS = "lithops==3.8.0"
_WORKERS = 4
_FEW, _MANY = 100, 1000
_RUNS = 5


def run() -> list[Row]:
    """Ours first, then Lithops: neither runs while the other is measured."""
    seconds = {}
    rows = []
    for items in (_FEW, _MANY):
        warm = WarmMap(items, _WORKERS)
        warm.run()
        seconds[items], spread = median_of([timed(warm.run) for _ in range(_RUNS)])
        rows.append(
            Row(
                "many_items", f"{items} trivial items, {_WORKERS} workers", seconds[items], "s", spread=spread
            )
        )
    growth = seconds[_MANY] / seconds[_FEW]
    rows.append(Row("many_items", f"{_MANY} against {_FEW} items", growth, "times", "≤ 2", growth <= 2))
    submitted_s, spread = median_of([timed(_submit) for _ in range(_RUNS)])
    ratio = submitted_s / seconds[_MANY]
    rows.append(Row("many_items", f"{_MANY} submits to an executor", submitted_s, "s", spread=spread))
    rows.append(Row("many_items", "against a map of as many", ratio, "times", "≤ 2", ratio <= 2))
    python = peers.environment("lithops", _LITHOPS)
    (lithops_s,) = json.loads(peers.run(python, "lithops_map.py", "same", str(_FEW), str(_WORKERS), "1"))
    ours_ms, lithops_ms = 1000 * seconds[_MANY] / _MANY, 1000 * lithops_s / _FEW
    rows.append(Row("many_items", f"{_LITHOPS}, localhost, {_FEW} items", lithops_s, "s"))
    rows.append(Row("many_items", "for each item", ours_ms, "ms"))
    rows.append(Row("many_items", f"for each item, {_LITHOPS}", lithops_ms, "ms"))
    ratio = lithops_ms / ours_ms
    rows.append(
        Row("many_items", "less time for each item than Lithops", ratio, "times", "≥ 50", ratio >= 50)
    )
    return rows


def _submit() -> None:
    with deployed().executor(workers=_WORKERS) as executor:
        futures = [executor.submit(abs, -number) for number in range(_MANY)]
        assert [future.result() for future in futures] == list(range(_MANY))
