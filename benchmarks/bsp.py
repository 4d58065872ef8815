"""What a superstep costs beside its compute, resident and relaunched; PageRank of a real graph beside networkx.

We know no figure of Jonas et al. 2017 ("Occupy the Cloud") for supersteps or PageRank. What it says of Redis,
transactions of one worker a second, stands beside the requests of a worker here.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.cloud import deployed
from benchmarks.report import Row, timed

PARTITIONS = 4
_SUPERSTEPS = 100
_RELAUNCHED = 5
_BAR_S = 0.04
_BAR_TIMES = 10
_PAPER_TRANSACTIONS = 500
_GRAPH = Path(
    os.environ.get("BELLWREN_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"),
    "graph",
    "wiki-vote.txt",
)


def run() -> list[Row]:
    """Four partitions that all write to each other, and PageRank in 20 rounds if the graph is there."""
    cloud = deployed()
    resident_s, requests = _overheads(cloud, _SUPERSTEPS, resident=True)
    relaunched_s, _ = _overheads(cloud, _RELAUNCHED, resident=False)
    resident, relaunched = statistics.median(resident_s), statistics.median(relaunched_s)
    spread = f"{min(resident_s):.3g} to {max(resident_s):.3g}, {len(resident_s)} supersteps"
    rows = [
        Row("bsp", "superstep overhead, resident, 4 workers", resident, "s", f"<= {_BAR_S} s",
            resident <= _BAR_S, spread),
        Row("bsp", "superstep overhead, relaunched, 4 workers", relaunched, "s"),
        Row("bsp", "relaunched over resident", relaunched / resident, "times", f">= {_BAR_TIMES}",
            relaunched / resident >= _BAR_TIMES),
        Row("bsp", "requests of all workers for each superstep, resident", requests, ""),
        Row("bsp", "requests of a worker a second", requests / PARTITIONS / resident, "1/s"),
        Row("bsp", "Jonas et al. 2017, on AWS: Redis transactions of a worker a second", _PAPER_TRANSACTIONS, "1/s",
            spread="128 bytes each; a little above, the mode in their figure"),
        Row("bsp", "load of the machine at the end", os.getloadavg()[0], ""),
    ]  # fmt: skip
    return rows + (_pagerank(cloud) if _GRAPH.is_file() else [])


def _talk(worker: Any) -> None:
    for to in range(worker.partitions):
        worker.send(to, worker.superstep)


def _overheads(cloud: Any, supersteps: int, *, resident: bool) -> tuple[list[float], float]:
    """Seconds of each superstep beside its longest compute, without the first three, in which workers start; and how
    many requests there were for each."""
    step = _talk
    job = cloud.bsp(step, PARTITIONS, supersteps, workers=PARTITIONS, resident=resident, progress=False)
    began = time.perf_counter()
    job.result()
    seconds = time.perf_counter() - began
    record = job.record
    requests = sum(record["stages"][0]["requests"].values()) / supersteps
    if not resident:
        return [seconds / supersteps], requests
    return [one["wall_s"] - one["compute_s"] for one in record["history"][3:]], requests


def _pagerank(cloud: Any) -> list[Row]:
    cloud.data_store.put("benchmarks/wiki-vote.txt", _GRAPH.read_bytes())
    document = {
        "bellwren": 1,
        "algorithm": "pagerank",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/benchmarks/wiki-vote.txt"},
        "workers": PARTITIONS,
        "params": {"iterations": 20, "tolerance": 0},
    }
    ours_s = timed(lambda: cloud.submit(document, progress=False).result())
    rows = [Row("bsp", "PageRank of wiki-vote, 20 rounds, submit to result", ours_s, "s")]
    try:
        import networkx  # type: ignore[import-untyped]
    except ImportError:
        return rows

    def theirs() -> None:
        graph = networkx.read_edgelist(_GRAPH, create_using=networkx.DiGraph)
        networkx.pagerank(graph, tol=1e-8)

    return [*rows, Row("bsp", "networkx in one process, reading included", timed(theirs), "s")]
