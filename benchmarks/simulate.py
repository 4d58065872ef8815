"""Jobs of up to 10,000 workers against the limits of AWS, event by event: which limit bites first, and when.

    python -m benchmarks.simulate                # the table of docs/limits.md
    python -m benchmarks.simulate --measured     # and beside it small jobs that really run, on the tests' engine

What a worker does is the engine's course: start, then claim (a write), read, compute and commit (a write) one task
after the other; a shuffle's second stage reads a range of every first task's object; a superstep is a write by each
worker, a read of all of them by the one that gathers, and a read of its answer by the others. A worker that finds
nothing more to claim has asked each place of claims, and looks for stragglers if it is one of those that do
(`engine/idle.py`); that is counted beside. Requests queue at S3's rate for a prefix, starts at the rates of Step
Functions and Lambda. The numbers are `Limits`; what is not in them is free.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bellwren import layout
from bellwren.control.sizing import MAX_TASKS, TASKS_PER_WORKER, partition_count
from bellwren.cost import prices
from bellwren.engine import idle


@dataclass(frozen=True)
class Limits:
    """What AWS documents for us-east-1, and what we take for granted. docs/limits.md says what happens at each."""

    concurrency: int = 1_000
    """Environments that the account runs at once; 10,000 workers take a raised quota."""
    environments_burst: int = 1_000
    environments_per_s: float = 100.0
    """New environments of one function: 1,000 at once, and 1,000 more every 10 s."""
    children_burst: int = 1_300
    children_per_s: float = 300.0
    """Starts of executions, and a child of a Distributed Map is one."""
    transitions_per_s: float = 5_000.0
    """And as many at once."""
    writes_per_s: float = 3_500.0
    """For a prefix that S3 has not spread yet."""
    reads_per_s: float = 5_500.0
    request_s: float = 0.03
    """First byte of S3."""
    cold_s: float = 0.6
    """Start of an environment: the import of the engine, and Lambda's own part."""
    reads_at_once: int = 16
    """Of the worker that gathers a superstep."""


LOCAL = Limits(
    concurrency=64, environments_per_s=1e9, children_per_s=1e9, transitions_per_s=1e9, writes_per_s=1e9,
    reads_per_s=1e9, request_s=0.006, cold_s=0.0,
)  # fmt: skip
"""The tests' engine on this machine: warm processes, an emulator on loopback, no Step Functions."""


@dataclass(frozen=True)
class Work:
    """One job."""

    kind: str
    """``map``, ``shuffle``, ``bsp``."""
    workers: int
    task_s: float = 1.0
    """Compute of a task, or of a worker in a superstep, at the median."""
    tasks: int | None = None
    """By default as many as Plan cuts."""
    supersteps: int = 10
    spread: float = 0.2
    """Standard deviation of the logarithm of a task's time."""
    straggling: float = 0.001
    """Share of tasks that take ten times as long, unless a backup is done before."""


@dataclass
class Queue:
    """A service that serves ``rate`` requests a second after a burst, first come, first served."""

    name: str
    rate: float
    burst: int = 0
    free_at: float = 0.0
    left: int = field(init=False)
    waited_s: float = 0.0
    """Summed over all who waited."""
    first_s: float | None = None
    """When somebody first waited for longer than a tenth of a second."""

    def __post_init__(self) -> None:
        self.left = self.burst

    def serve(self, at: float, count: int = 1) -> float:
        """When the last of ``count`` requests that come at ``at`` is served. Calls come in order of time."""
        if self.left >= count:
            self.left -= count
            return at
        done = max(at, self.free_at) + count / self.rate
        self.free_at = done
        self.waited_s += done - at
        if self.first_s is None and done - at > 0.1 + 1 / self.rate:
            self.first_s = at
        return done


@dataclass(frozen=True)
class Outcome:
    """How a simulated job went."""

    work: Work
    seconds: float
    ideal_s: float
    """Compute alone, spread evenly over all workers from the first moment."""
    calm_s: float
    """The same job if no task straggled."""
    first: str
    """The limit that somebody first waited for; empty if none did."""
    first_s: float
    longest: str
    """The limit that cost most waiting."""
    ran: int
    """Workers that ever ran."""
    requests: int
    idle_writes: int
    """Requests of the price of a write, lists and claims that come too late, of workers that find nothing to do."""

    @property
    def idle_usd(self) -> float:
        """What those cost."""
        return self.idle_writes * prices().s3_put


def simulate(work: Work, limits: Limits = Limits(), seed: int = 1) -> Outcome:
    """Run one job."""
    run = _Run(work, limits, random.Random(seed))
    seconds, ideal = run.job()
    calm, _ = _Run(replace(work, straggling=0.0), limits, random.Random(seed)).job()
    bitten = [queue for queue in run.queues if queue.first_s is not None]
    first = min(bitten, key=lambda queue: queue.first_s or 0.0, default=None)
    longest = max(bitten, key=lambda queue: queue.waited_s, default=None)
    return Outcome(
        work, seconds, ideal, calm,
        first.name if first else "", (first.first_s or 0.0) if first else 0.0,
        longest.name if longest else "", run.ran, run.requests, run.idle_writes,
    )  # fmt: skip


class _Run:
    def __init__(self, work: Work, limits: Limits, chance: random.Random) -> None:
        self.work, self.limits, self._chance = work, limits, chance
        self.children = Queue(
            "Step Functions: starts of children", limits.children_per_s, limits.children_burst
        )
        self.transitions = Queue(
            "Step Functions: transitions", limits.transitions_per_s, int(min(5_000, limits.transitions_per_s))
        )
        self.environments = Queue(
            "Lambda: new environments", limits.environments_per_s, limits.environments_burst
        )
        self.slots = Queue("Lambda: concurrency", float("inf"))
        self.writes = Queue("S3: writes of a prefix", limits.writes_per_s)
        self.reads = Queue("S3: reads of a prefix", limits.reads_per_s)
        self.gather = Queue("the worker that gathers", limits.reads_at_once / limits.request_s)
        self.ran = self.requests = self.idle_writes = 0

    @property
    def queues(self) -> list[Queue]:
        return [
            self.children,
            self.transitions,
            self.environments,
            self.slots,
            self.writes,
            self.reads,
            self.gather,
        ]

    def job(self) -> tuple[float, float]:
        """Seconds, and those of the ideal."""
        return {"map": self.map, "shuffle": self.shuffle, "bsp": self.bsp}[self.work.kind]()

    def map(self) -> tuple[float, float]:
        tasks = self._tasks()
        return self._stage(tasks, reads=1, writes=2), self._ideal(tasks)

    def shuffle(self) -> tuple[float, float]:
        """Every second task reads a range of every first one's object."""
        tasks = self._tasks()
        first = self._stage(tasks, reads=1, writes=2)
        partitions = partition_count(self.work.workers, 0)
        warm = self.ran
        second = self._stage(partitions, reads=tasks, writes=2, began=first, warm=warm)
        return second, self._ideal(tasks) + self._ideal(partitions)

    def bsp(self) -> tuple[float, float]:
        """All workers must run at once; where they may not, the engine gives each more partitions."""
        together = min(self.work.workers, self.limits.concurrency)
        more = self.work.workers / together
        now = max(at for at, _ in self._starts(together))
        self.ran = together
        for _ in range(self.work.supersteps):
            ended = sorted(now + self._task_s(backed_up=False) * more for _ in range(together))
            written = [self.writes.serve(at) + self.limits.request_s for at in ended[:-1]]
            gathered = max(written + ended[-1:])
            if together > 1:
                read = max(gathered, self.reads.serve(gathered, together - 1))
                gathered = self.gather.serve(read, together - 1)
            done = self.writes.serve(gathered) + self.limits.request_s
            now = done if together == 1 else self.reads.serve(done, together - 1) + self.limits.request_s
            self.requests += 3 * together
        return now, self.work.supersteps * self.work.task_s * more

    def _tasks(self) -> int:
        return self.work.tasks or min(MAX_TASKS, self.work.workers * TASKS_PER_WORKER)

    def _ideal(self, tasks: int) -> float:
        return tasks * self.work.task_s / self.work.workers

    def _task_s(self, *, backed_up: bool) -> float:
        seconds = self.work.task_s * self._chance.lognormvariate(0.0, self.work.spread)
        if self._chance.random() >= self.work.straggling:
            return seconds
        # An idle worker runs it again after three times the median and at least a second (`engine/claims.py`,
        # `backup_due`); a superstep has no backups.
        backup = max(3 * self.work.task_s, 1.0) + self.work.task_s
        return min(10 * seconds, backup) if backed_up else 10 * seconds

    def _starts(self, workers: int, began: float = 0.0, warm: int = 0) -> list[tuple[float, int]]:
        """When each worker's environment is ready, and its number; concurrency is not in it."""
        starts = []
        for number in range(workers):
            at = self.transitions.serve(self.children.serve(began), 2)
            ready = at if number < warm else self.environments.serve(at) + self.limits.cold_s
            starts.append((ready, number))
        return starts

    def _stage(self, tasks: int, *, reads: int, writes: int, began: float = 0.0, warm: int = 0) -> float:
        """Until the last task is committed."""
        self.children.left = self.limits.children_burst if began == 0 else self.children.left
        coming = self._starts(self.work.workers, began, warm)
        busy: list[tuple[float, int]] = []
        heapq.heapify(coming)
        left, end, running = tasks, began, 0
        while left and (coming or busy):
            if coming and running < self.limits.concurrency and (not busy or coming[0][0] <= busy[0][0]):
                at, number = heapq.heappop(coming)
                running += 1
                self.ran = max(self.ran, running)
            else:
                if coming and running >= self.limits.concurrency and self.slots.first_s is None:
                    self.slots.first_s = coming[0][0]
                at, number = heapq.heappop(busy)
            left -= 1
            claimed = self.writes.serve(at) + self.limits.request_s
            # Requests are counted when the task begins: they come in order of time only so.
            fetched = self.reads.serve(at, reads) + self.limits.request_s * max(
                1, reads / self.limits.reads_at_once
            )
            ready = max(claimed, fetched) + self._task_s(backed_up=True)
            done = max(ready, self.writes.serve(at, writes - 1)) + self.limits.request_s
            self.requests += reads + writes
            end = max(end, done)
            heapq.heappush(busy, (done, number))
        self.slots.waited_s += sum(end - at for at, _ in coming) if self.slots.first_s is not None else 0.0
        self._idle(tasks, end, busy if self.slots.first_s is not None else [*busy, *coming])
        return end

    def _idle(self, tasks: int, end: float, free: list[tuple[float, int]]) -> None:
        """Count what workers ask for between their last task, each with the time of its end, and the stage's."""
        workers, places = self.work.workers, len(layout.places("any", tasks))
        waiting = max(idle.WAIT_S, idle.WAIT_MEDIANS * self.work.task_s)
        for at, number in free:
            # A claim that somebody else has, and the list of what is taken beside it.
            self.idle_writes += 2 * places
            if idle.looks(number, workers, tasks):
                looked_s = min(waiting, max(0.0, end - at))
                looks = 1 + int(looked_s / idle.poll_s(workers, tasks))
                self.idle_writes += looks * idle.lists_of_a_look(tasks)


JOBS = (
    *(Work("map", workers) for workers in (100, 1_000, 10_000)),
    *(Work("map", workers, task_s=0.05) for workers in (1_000, 10_000)),
    *(Work("shuffle", workers) for workers in (100, 1_000, 10_000)),
    *(Work("bsp", workers) for workers in (100, 1_000, 10_000)),
)
RAISED = replace(Limits(), concurrency=10_000)
"""An account whose quota of concurrent executions was raised, which nothing above 1,000 workers can do without."""


def table(outcomes: list[Outcome]) -> str:
    """As it stands in docs/limits.md."""
    lines = [
        "| job | workers | task s | ideal s | simulated s | no stragglers s | requests | idle USD | first limit at "
        "| waited for |",
        "|---|" + "---|" * 9,
    ]
    for one in outcomes:
        first = f"{one.first}, {one.first_s:.1f} s" if one.first else "none"
        lines.append(
            f"| {one.work.kind} | {one.work.workers:,} | {one.work.task_s:g} | {one.ideal_s:,.1f} | "
            f"{one.seconds:,.1f} | {one.calm_s:,.1f} | {one.requests:,} | {one.idle_usd:.2f} | {first} | "
            f"{one.longest or 'none'} |"
        )
    return "\n".join(lines)


def measured(run: Callable[[int, int, float], float]) -> str:
    """Small maps that really ran, beside what `LOCAL` predicts. ``run(workers, items, item_s)`` gives seconds."""
    lines = ["| workers | items | item s | measured s | simulated s |", "|---|" + "---|" * 4]
    for workers, items, item_s in ((1, 16, 0.1), (2, 32, 0.1), (4, 64, 0.1), (8, 128, 0.1), (4, 64, 0.3)):
        took = run(workers, items, item_s)
        work = Work("map", workers, task_s=item_s, tasks=items, spread=0.0, straggling=0.0)
        lines.append(f"| {workers} | {items} | {item_s} | {took:.2f} | {simulate(work, LOCAL).seconds:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument(
        "--measured", action="store_true", help="run small jobs too, beside their simulation"
    )
    if arguments.parse_args().measured:
        from benchmarks.simulate_measured import sleeping_maps

        with sleeping_maps() as run:
            print(measured(run))
    print(table([simulate(work, RAISED) for work in JOBS]))


if __name__ == "__main__":
    main()
