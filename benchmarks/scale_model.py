"""A sort of 1 TB by 1,000 workers, on paper: requests, seconds and dollars from stated assumptions.

python -m benchmarks.scale_model
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from bellwren import cost
from bellwren.control.sorting import block_bytes, block_share, partition_count, sort_sizes
from bellwren.engine.capacity import vcpus
from bellwren.engine.sorting.partition import MOST_ENTRIES, step_of


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
    """The same for a MB that is merged."""
    entry_s: float = 0.4e-6
    """CPU for an entry of an index, each time that it is read."""
    boundary_s: float = 1.2e-6
    """CPU for an entry among which boundaries are found."""
    cut_s: float = 3e-6
    """CPU for one boundary in one run."""
    plan_vcpus: float = 0.58
    """Of the Plan function, which has 1,024 MB."""
    start_s: float = 12.0
    """Until all workers of a stage run: 1,000 environments in 10 s, and the start of each."""
    control_s: float = 15.0
    """Prepare, Forecast, Plan (twice, with listings of thousands of objects), Finish."""
    round_s: float = 840.0
    """How long a worker works before the next round goes on: Lambda's 15 minutes, less its start and its end."""
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
    rounds: int
    """Rounds of the second stage."""
    sort: Stage
    plan: Stage
    """Laying out what each merge task takes."""
    merge: Stage
    seconds: float
    usd: dict[str, float]

    @property
    def gets(self) -> float:
        """All reads."""
        return self.sort.gets + self.plan.gets + self.merge.gets

    @property
    def puts(self) -> float:
        """All writes."""
        return self.sort.puts + self.plan.puts + self.merge.puts


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
    # Plan reads all indexes: once for the boundaries and, where they are too much to keep, once more for the cuts.
    looks = 2 if step_of(int(entries / runs), runs) > 1 else 1
    index_mb = looks * entries * (17 + 8 + 10) / 1e6
    index_s = looks * entries * a.entry_s + min(entries, MOST_ENTRIES) * a.boundary_s + ranges * a.cut_s
    plan = _stage(
        replace(a, workers=1, start_s=0.0, straggler=1.0, requests_at_once=16),
        gets=2 * looks * runs,
        puts=partitions,
        transfer_mb=index_mb,
        cpu_s=index_s / a.plan_vcpus,
    )
    sort = _stage(
        a,
        gets=runs * -(-sizes.run_bytes // (8 << 20)) + 4 * a.workers,
        puts=2 * runs + a.workers,
        transfer_mb=2 * mb,
        cpu_s=mb * a.run_s_per_mb,
    )
    rounds = 0
    merge = Stage(0.0, "", 0.0, 0.0)
    while (needed := max(1, ceil(merge.seconds / a.round_s))) > rounds:
        rounds = needed
        merge = _stage(
            replace(a, start_s=rounds * a.start_s),
            gets=ranges + partitions + rounds * 4 * a.workers,
            puts=2 * partitions + rounds * a.workers,
            transfer_mb=read_mb + mb,
            cpu_s=mb * a.merge_s_per_mb,
        )
    seconds = a.control_s + plan.seconds + sort.seconds + merge.seconds
    usage = cost.around((1 + rounds) * a.workers, rounds=1 + rounds) + cost.Usage(
        worker_gb_s=a.workers
        * cost.billed_gb_s(a.memory_mb, sort.seconds + merge.seconds - (1 + rounds) * a.start_s),
        control_gb_s=plan.seconds,
        s3_puts=int(sort.puts + plan.puts + merge.puts),
        s3_gets=int(sort.gets + plan.gets + merge.gets),
    )
    return Estimate(runs, partitions, block, rounds, sort, plan, merge, seconds, cost.lines(usage))


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


_LARGER = 2_600
"""Still one vCPU, so one runner, which may have more: fewer runs, fewer partitions, fewer reads."""

VARIANTS = {
    "1,769 MB": Assumptions(),
    "2,600 MB": Assumptions(memory_mb=_LARGER),
    "2,600 MB, prefix spread over 4": Assumptions(memory_mb=_LARGER, key_partitions=4),
    "the same, bandwidth halved": Assumptions(memory_mb=_LARGER, key_partitions=4, worker_mb_per_s=35.0),
    "2,600 MB, 500 workers": Assumptions(memory_mb=_LARGER, workers=500),
    "100 GB, 1,000 workers": Assumptions(total_bytes=10**11),
    "100 GB, 100 workers": Assumptions(total_bytes=10**11, workers=100),
}


def table() -> str:
    """The variants side by side, in Markdown."""
    columns = ["variant", "runs × partitions", "reads", "writes", "sort s", "plan s", "merge s (rounds)"]
    columns += ["held up by", "total s", "USD"]
    rows = [" | ".join(["", *columns, ""]).strip(), "|" + "---|" * len(columns)]
    for name, assumed in VARIANTS.items():
        found = estimate(assumed)
        row = [
            name,
            f"{found.runs:,} × {found.partitions:,}",
            f"{found.gets / 1e6:.1f} M",
            f"{found.puts / 1e3:.0f} k",
            f"{found.sort.seconds:,.0f}",
            f"{found.plan.seconds:,.0f}",
            f"{found.merge.seconds:,.0f} ({found.rounds})",
            found.merge.bound,
            f"{found.seconds:,.0f}",
            f"{sum(found.usd.values()):.0f}",
        ]
        rows.append(" | ".join(["", *row, ""]).strip())
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
    print()
    for line, usd in estimate(Assumptions()).usd.items():
        print(f"{line:16} {usd:8.2f} USD")
