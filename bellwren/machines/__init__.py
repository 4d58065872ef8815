"""What the data sheet says of a kind of machine, by the name that the cloud gives it.

Records of other systems name the machine that they ran on. To a model a name is a category: of one that it has not seen
it knows nothing. Its data sheet says how its processors and its disks compare to those of the others. (Its network
hardly matters: a faster one makes jobs of data analysis 2 % faster at the median. Ousterhout et al., "Making Sense of
Performance in Data Analytics Frameworks", 2015.)
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Machine:
    """NaN where the data sheet does not say."""

    clock_ghz: float
    """Sustained clock of a processor."""
    disk_mbit_s: float
    """Baseline bandwidth to its block storage."""


def machine(name: str) -> Machine | None:
    """The machine of this name (``m4.2xlarge``); None: there is no data sheet of it."""
    found = _sheets().get(name.strip().lower())
    return None if found is None else Machine(*(math.nan if one is None else float(one) for one in found))


@cache
def _sheets() -> dict[str, list[float | None]]:
    text = (resources.files(__name__) / "ec2.json").read_text("utf-8")
    sheets: dict[str, list[float | None]] = json.loads(text)["machines"]
    return sheets
