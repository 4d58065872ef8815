"""``make bench``: run all benchmarks, or those that are named, and write ``benchmarks/results``."""

from __future__ import annotations

import importlib
import sys

from benchmarks.report import Row, table, write

BENCHMARKS = (
    *("imports", "warm_map", "many_items", "wordcount", "wordcount_spark", "sort_spark"),
    *("bsp", "compute", "forecast_latency", "learning", "learning_size"),
)


def main(names: list[str]) -> None:
    """Run the named benchmarks, in order."""
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"benchmarks.{name}").run()
    print(table(rows))
    print(f"\nwritten to {write(rows, ' '.join(['python -m benchmarks', *names]))}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
