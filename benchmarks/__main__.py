"""``make bench``: run all benchmarks, or those that are named; keep what they say in ``benchmarks/results``.

``python -m benchmarks NAME...`` runs those, ``python -m benchmarks --tables`` runs none, and writes the tables and the
README's anew from what is kept.
"""

from __future__ import annotations

import importlib
import sys
import time

from benchmarks.report import Run, about, document, keep, plot, write_summary

BENCHMARKS = (
    *("imports", "warm_map", "many_items", "map_peers", "wordcount", "wordcount_spark", "sort_spark"),
    *("bsp", "compute", "forecast_latency", "learning", "learning_size"),
)
LONGER = ("supersteps_10000",)
"""Run when they are named, and not with all."""


def main(names: list[str]) -> None:
    """Run the named benchmarks, in order; each is kept as soon as it has ended."""
    command = " ".join(["python -m benchmarks", *names])
    unknown = sorted({*names} - {"--tables", *BENCHMARKS, *LONGER})
    if unknown:
        sys.exit(
            f"no benchmark {', '.join(unknown)}; there are {', '.join([*BENCHMARKS, *LONGER])}, and --tables"
        )
    if names == ["--tables"]:
        keep([])
        names = []
    else:
        for name in names or BENCHMARKS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            began, where = time.monotonic(), about()
            rows = importlib.import_module(f"benchmarks.{name}").run()
            done = Run(name, command, where, rows, round(time.monotonic() - began, 1))
            print(document([done]).partition("\n")[2], flush=True)
            print("kept in", ", ".join(map(str, [keep([done]), *plot([done])])), file=sys.stderr)
    write_summary()


if __name__ == "__main__":
    main(sys.argv[1:])
