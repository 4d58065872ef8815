"""A random schedule of faults for one job of supersteps, made from a seed; its result must be the undisturbed one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bellwren import layout
from tests.chaos.schedule import MISDEEDS, ONCE, drawn_faults, launched
from tests.engine.harness import Engine
from tests.engine.iterative import bsp, reference
from tests.engine.proxy import Fault, Proxy
from tests.engine.superstep_programs import chatter

STEPS = (
    r"supersteps/00000\d+/",
    r"supersteps/00000\d+/",
    r"supersteps/0000001/",
    r"supersteps/.*/complete",
    r"/workers/",
    r"/plan\.json",
    r"/results/part-",
    r"/code/",
    r"",
)


@dataclass(frozen=True)
class SuperstepSchedule:
    """What is done to one job of supersteps."""

    seed: int
    partitions: int
    supersteps: int
    workers: int
    resident: bool
    timeout_s: float
    launch: str
    misdeeds: dict[tuple[int, int], str]
    """By superstep and partition, what the step does there, once."""
    faults: list[Fault] = field(default_factory=list)

    @staticmethod
    def drawn(seed: int) -> SuperstepSchedule:
        dice = random.Random(seed)
        partitions, supersteps = dice.choice([1, 2, 4, 6]), dice.choice([2, 5, 8])
        places = [(superstep, number) for superstep in range(supersteps) for number in range(partitions)]
        return SuperstepSchedule(
            seed=seed,
            partitions=partitions,
            supersteps=supersteps,
            workers=dice.choice([1, 2, 2, 3]),
            resident=dice.random() < 0.8,
            timeout_s=dice.choice([60.0, 60.0, 60.0, 6.0]),
            launch=dice.choice(["all", "all", "all", "twice", "late"]),
            misdeeds={place: dice.choice(ONCE) for place in dice.sample(places, dice.choice([0, 1, 1, 2]))},
            faults=drawn_faults(dice, STEPS),
        )

    def __str__(self) -> str:
        what = [f"{fault.action} {fault.method} {fault.path or 'any'}+{fault.skip}" for fault in self.faults]
        return (
            f"seed {self.seed}: {self.supersteps} supersteps of {self.partitions} on {self.workers} ({self.launch}, "
            f"{'resident' if self.resident else 'relaunched'}), {self.timeout_s:g} s, steps {self.misdeeds}, "
            f"requests {what}"
        )

    def step(self, folder: Path) -> Callable[[Any], None]:
        """The function of the supersteps."""
        misdeeds = self.misdeeds

        def step(worker: Any) -> None:
            chatter(worker)
            name = misdeeds.get((worker.superstep, worker.partition))
            mark = folder / f"done-{worker.superstep}-{worker.partition}"
            if name and not mark.exists():
                mark.touch()
                MISDEEDS[name][0]()

        return step


def run_supersteps(engine: Engine, proxy: Proxy, schedule: SuperstepSchedule, folder: Path) -> int:
    """Run the job of the schedule; returns how many invocations were lost.

    Raises:
        AssertionError: if its result is not that of an undisturbed run, or its history is out of order.
    """
    states: list[list[Any]] = [[] for _ in range(schedule.partitions)]
    with proxy.disturbed_by(*schedule.faults):
        outcome = bsp(
            engine,
            schedule.step(folder),
            states,
            schedule.supersteps,
            resident=schedule.resident,
            workers=schedule.workers,
            timeout_s=schedule.timeout_s,
            launch=partial(launched, schedule.launch),
        )
    assert outcome.result() == reference(chatter, states, schedule.supersteps)[0]
    # The history is told by who comes to the end first; of what it found done by others it does not know the times.
    told = [one["superstep"] for one in outcome.record["history"]]
    assert told == sorted(set(told)), told
    assert told[-1] == schedule.supersteps - 1, told
    assert not list(engine.store.list(layout.work(outcome.job_id)))
    return outcome.lost
