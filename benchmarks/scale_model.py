"""A sort of 1 TB by 1,000 workers, on paper: requests, seconds and dollars from stated assumptions.

python -m benchmarks.scale_model
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bellwren import cost
from bellwren.control.sorting import block_bytes, block_share, partition_count, sort_sizes
from bellwren.engine.capacity import vcpus


@dataclass(frozen=True)
class Assumptions:
    """Everything that the model takes for granted. docs/scale.md says where each figure comes from."""

    total_bytes: int = 10**12
    record_bytes: int = 100
    workers: int = 1_000
    memory_mb: int = 1_769
    """One vCPU, and so one runner, for each worker."""
    gets_per_s: float = 5_500
    """What S3 promises for one partition of a bucket's keys; all runs of a job lie under one prefix."""
    puts_per_s: float = 3_500
    key_partitions: int = 1
    """Partitions over which S3 has spread the prefix. It does so by itself after half an hour of load."""
    worker_mb_per_s: float = 70.0
    """Between one function and S3, in either direction."""
    requests_at_once: int = 16
    request_s: float = 0.03
    run_s_per_mb: float = 0.014
    """CPU of a worker for a MB that becomes part of a run: fetching, splitting, sorting, writing."""
    merge_s_per_mb: float = 0.013
    boundary_s_per_entry: float = 2.5e-6
    start_s: float = 12.0
    """Until all workers of a stage run: 1,000 environments in 10 s, and the start of each."""
    control_s: float = 15.0
    """Prepare, Forecast, Plan (twice, with listings of thousands of objects), Finish."""
    straggler: float = 1.25
    """The last worker ends so much later than the mean."""


@dataclass(frozen=True)
class Stage:
    """One stage, and what holds it up."""

    seconds: float
    bound: str
    gets: float
    puts: float


@dataclass(frozen=True)
class Estimate:
    """The whole job."""

    runs: int
    partitions: int
    block_bytes: int
    sort: Stage
    merge: Stage
    seconds: float
    usd: dict[str, float]

    @property
    def gets(self) -> float:
        """All reads."""
        return self.sort.gets + self.merge.gets


def estimate(a: Assumptions) -> Estimate:
    """Apply the model."""
    slots = a.workers * vcpus(a.memory_mb)
    sizes = sort_sizes(a.total_bytes, slots, a.memory_mb, block_share(a.record_bytes))
    runs = -(-a.total_bytes // sizes.run_bytes)
    partitions = partition_count(a.total_bytes, slots, sizes)
    block = block_bytes(a.total_bytes, runs, sizes, slots)
    mb = a.total_bytes / 1e6 / a.workers
    ranges = runs * partitions
    # A range begins and ends within a block of its run, so a block more is read than is needed.
    read_mb = mb * (1 + block / (a.total_bytes / ranges))
    entries = a.total_bytes / block
    index_mb = entries * (17 + 8 + 10) / 1e6
    sort = _stage(
        a,
        gets=runs * -(-sizes.run_bytes // (8 << 20)) + 4 * a.workers,
        puts=2 * runs + a.workers,
        transfer_mb=2 * mb,
        cpu_s=mb * a.run_s_per_mb,
    )
    merge = _stage(
        a,
        gets=ranges + a.workers * runs + 4 * a.workers,
        puts=2 * partitions + a.workers,
        transfer_mb=read_mb + mb + index_mb,
        cpu_s=mb * a.merge_s_per_mb + 2 * entries * a.boundary_s_per_entry,
    )
    seconds = a.control_s + sort.seconds + merge.seconds
    usage = cost.around(2 * a.workers, rounds=2) + cost.Usage(
        worker_gb_s=a.workers * cost.billed_gb_s(a.memory_mb, sort.seconds + merge.seconds - 2 * a.start_s),
        s3_puts=int(sort.puts + merge.puts),
        s3_gets=int(sort.gets + merge.gets),
    )
    return Estimate(runs, partitions, block, sort, merge, seconds, cost.lines(usage))


def _stage(a: Assumptions, *, gets: float, puts: float, transfer_mb: float, cpu_s: float) -> Stage:
    bounds = {
        "S3's rate of reads": gets / (a.gets_per_s * a.key_partitions),
        "S3's rate of writes": puts / (a.puts_per_s * a.key_partitions),
        "a worker's requests": gets / a.workers * a.request_s / a.requests_at_once,
        # Reading, computing and writing of different tasks go on side by side, but not of the first and the last.
        "bandwidth": transfer_mb / a.worker_mb_per_s * a.straggler,
        "CPU": cpu_s * a.straggler,
    }
    bound = max(bounds, key=lambda name: bounds[name])
    return Stage(a.start_s + bounds[bound], bound, gets, puts)


VARIANTS = {
    "as built, 1,769 MB": Assumptions(),
    "as built, 3,008 MB": Assumptions(memory_mb=3_008),
    "the prefix spread over 4 partitions": Assumptions(key_partitions=4),
    "500 workers": Assumptions(workers=500),
    "100 GB, 1,000 workers": Assumptions(total_bytes=10**11),
    "100 GB, 100 workers": Assumptions(total_bytes=10**11, workers=100),
    "bandwidth halved": replace(Assumptions(), worker_mb_per_s=35.0),
}


def table() -> str:
    """The variants side by side, in Markdown."""
    head = "| variant | runs × partitions | reads | writes | sort s | merge s | held up by | total s | USD |"
    rows = [head, "|---|---|---|---|---|---|---|---|---|"]
    for name, assumed in VARIANTS.items():
        found = estimate(assumed)
        rows.append(
            f"| {name} | {found.runs:,} × {found.partitions:,} | {found.gets / 1e6:.1f} M "
            f"| {(found.sort.puts + found.merge.puts) / 1e3:.0f} k | {found.sort.seconds:,.0f} "
            f"| {found.merge.seconds:,.0f} | {found.merge.bound} | {found.seconds:,.0f} "
            f"| {sum(found.usd.values()):.0f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
    print()
    for line, usd in estimate(Assumptions()).usd.items():
        print(f"{line:16} {usd:8.2f} USD")
