"""A random schedule of faults for one job, made from a seed, with the result that the job must have all the same."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.proxy import Action, Fault

STEPS = (
    r"/claims/0/",
    r"/claims/0/.*\.open",
    r"/results/part-",
    r"/map/out/",
    r"/workers/",
    r"/tasks\.json",
    r"/plan\.json",
    r"/code/",
    r"/partial/",
    r"/trail/",
    r"",
)
HARMLESS: tuple[Action, ...] = ("delay", "refuse", "lose", "tear")
MOST_KILLS = 3
"""Kills by the script; each costs a life of a worker, of which there are four in a round."""


def _exit() -> None:
    os._exit(0)


def _segfault() -> None:
    ctypes.string_at(0)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(30)


def _hang() -> None:
    time.sleep(600)


def _exhaust() -> None:
    bytearray(64 << 30)


def _fail() -> None:
    raise ValueError("asked to fail")


MISDEEDS: dict[str, tuple[Callable[[], None], str]] = {
    "exit": (_exit, "WorkerDied"),
    "segfault": (_segfault, "WorkerDied"),
    "kill": (_kill, "WorkerDied"),
    "kill parent": (_kill_parent, "WorkerDied"),
    "hang": (_hang, "TimedOut"),
    "exhaust": (_exhaust, "OutOfMemory"),
    "fail": (_fail, "ValueError"),
}
FOREVER = ("exit", "segfault", "kill", "hang", "exhaust", "fail")
"""Misdeeds that an item may repeat in each try. Killing the parent for ever is tested by name: it takes long."""
ONCE = ("exit", "segfault", "kill", "kill parent", "exhaust")
"""Misdeeds that another try may follow; a user's own exception is final."""


@dataclass(frozen=True)
class Schedule:
    """What is done to one job."""

    seed: int
    kind: str
    items: int
    workers: int
    retries: int
    memory_mb: int
    timeout_s: float
    launch: str
    skew_s: tuple[float, ...]
    misdeeds: dict[int, tuple[str, bool]]
    """For some items what they do, and whether in each try."""
    pause_s: float
    faults: list[Fault] = field(default_factory=list)

    @staticmethod
    def drawn(seed: int) -> Schedule:
        dice = random.Random(seed)
        items = dice.choice([1, 3, 8, 20, 40, 70])
        misdeeds = {}
        for item in dice.sample(range(items), min(items, dice.choice([0, 0, 1, 1, 2]))):
            for_ever = dice.random() < 0.4
            misdeeds[item] = (dice.choice(FOREVER if for_ever else ONCE), for_ever)
        return Schedule(
            seed=seed,
            kind=dice.choice(["map", "map_reduce"]),
            items=items,
            workers=dice.choice([1, 2, 2, 3]),
            retries=dice.choice([1, 2, 2]),
            memory_mb=dice.choice([1769, 1769, 3538]),
            timeout_s=dice.choice([60.0, 60.0, 60.0, 6.0]),
            launch=dice.choice(["all", "all", "all", "twice", "late", "some"]),
            skew_s=dice.choice([(), (), (), (), (0.001, 500.0), (-4000.0, 0.001)]),
            misdeeds=misdeeds,
            pause_s=dice.choice([0.0, 0.0, 0.002, 0.02]),
            faults=drawn_faults(dice, STEPS),
        )

    def __str__(self) -> str:
        what = [f"{fault.action} {fault.method} {fault.path or 'any'}+{fault.skip}" for fault in self.faults]
        return (
            f"seed {self.seed}: {self.kind} of {self.items} on {self.workers} ({self.launch}), {self.timeout_s:g} s, "
            f"items {self.misdeeds}, requests {what}"
        )

    def job(self, folder: Path) -> Callable[[int], Any]:
        """The function of the items."""
        misdeeds, pause_s, shuffled = self.misdeeds, self.pause_s, self.kind == "map_reduce"

        def item(x: int) -> Any:
            if pause_s:
                time.sleep(pause_s)
            if x in misdeeds:
                name, for_ever = misdeeds[x]
                mark = folder / f"done-{x}"
                if for_ever or not mark.exists():
                    mark.touch()
                    MISDEEDS[name][0]()
            return [(x % 5, x), ("all", 1)] if shuffled else {"x": x, "text": "ab"[x % 2] * (x % 7)}

        return item

    def expected(self) -> tuple[Any, dict[int, str]]:
        """The right result (None in a failed item's place), and the kinds of failure by item."""
        failures = {x: MISDEEDS[name][1] for x, (name, for_ever) in self.misdeeds.items() if for_ever}
        good = [x for x in range(self.items) if x not in failures]
        if self.kind == "map":
            values = [{"x": x, "text": "ab"[x % 2] * (x % 7)} for x in range(self.items)]
            return [None if x in failures else value for x, value in enumerate(values)], failures
        groups: dict[Any, list[int]] = defaultdict(list)
        for x in good:
            groups[x % 5].append(x)
            groups["all"].append(1)
        return dict(groups), failures

    def launched(self, workers: list[int]) -> list[int]:
        """Which workers start."""
        return launched(self.launch, workers)


def launched(how: str, workers: list[int]) -> list[int]:
    """Which workers start, and how often."""
    if how == "twice":
        return [*workers, *workers]
    if how == "late":
        return list(reversed(workers))
    return workers[:1] if how == "some" else workers


def drawn_faults(dice: random.Random, steps: Sequence[str]) -> list[Fault]:
    """Requests that fail, are late or lost, and workers that are killed at one of ``steps``."""
    made = []
    for _ in range(dice.choice([0, 1, 1, 2, 3])):
        action: Action = dice.choice(HARMLESS)
        made.append(
            Fault(
                action,
                dice.choice(steps),
                method=dice.choice(["", "PUT", "GET"]),
                skip=dice.choice([0, 0, 1, 3, 10]),
                times=dice.choice([1, 2, 3]),
                status=dice.choice([500, 503, 503, 429]),
                seconds=dice.choice([0.1, 0.4, 1.0]),
            )
        )
    for _ in range(dice.choice([0, 0, 1, 1, 2, MOST_KILLS])):
        made.append(
            Fault(
                dice.choice(["kill", "late-kill"]),
                dice.choice(steps),
                method=dice.choice(["", "PUT", "GET"]),
                skip=dice.choice([0, 1, 2, 5, 12, 30]),
            )
        )
    return made
