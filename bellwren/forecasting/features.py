"""What a model sees of a run: numbers on a scale of their own magnitude, texts as codes, and what both come to.

Two blocks of float64 columns. *Properties* are the same for every run of a context: sizes, parameters, data
characteristics, environment. *Rows* differ with what is chosen: workers, and the memory and slots of one worker; and
what follows from both, whichever is known: load (data per worker or slot), fit (data over total memory, the notion
behind a memory cliff), and the imbalance of tasks over workers.

Volumes and resources go in as logarithms, so a doubling is a doubling everywhere; other numbers by log(1 + x / least),
which has a place for zero. In neither does the unit matter. The centring is done here in float64, so that sizes in
bytes never reach float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bellwren.forecasting.text import WIDTH, text_code
from bellwren.machines import machine
from bellwren.records.execution import (
    BYTES,
    ITEMS,
    MACHINE,
    MEMORY_MB,
    RESOURCES,
    SLOTS,
    TASKS,
    Execution,
    Value,
)

Array: TypeAlias = NDArray[np.float64]
Level: TypeAlias = Literal["property", "row"]
Scale: TypeAlias = Literal["log", "log1p", "linear", "text"]

INVERSE = "1/workers"
LOG_WORKERS = "log workers"
LOAD = "load"
FIT = "fit"
IMBALANCE = "imbalance"
TOTAL_SLOTS = "total slots"
CLOCK = "clock"
DISK = "disk"
SPEEDS = (CLOCK, DISK)
"""How fast the machine is, for each of its slots, by its data sheet; without one, as the middle of those seen."""
_SPREAD_OF_LOG1P = 100.0
_VOLUMES = frozenset({BYTES, ITEMS, TASKS})
"""What there is always some of."""
_MOST = 1e3
"""No encoded number is larger: of what lies so many ranges away, nothing is known but that it is far."""
_LEAST = 1e-200
"""Of the greatest number of a property: what is less counts as so much."""
_BEYOND = math.log(1.25)
"""A number more than a quarter beyond the range seen in training is far from what the model knows."""


@dataclass(frozen=True)
class Feature:
    """One thing the model sees, as one or more columns of a block."""

    name: str
    level: Level
    scale: Scale
    shift: float = 0.0
    """Subtracted after the scale's function."""
    spread: float = 1.0
    """Divided by, where the scale is linear or log1p."""
    low: float = -math.inf
    """Least value seen in training, before scaling."""
    high: float = math.inf
    """Greatest value seen in training, before scaling."""
    categories: tuple[str, ...] = ()
    """Texts seen in training."""

    @property
    def width(self) -> int:
        """Columns: the value (or a text's code), and whether it is missing."""
        return (WIDTH if self.scale == "text" else 1) + 1

    def encode(self, value: Value | None) -> Array:
        """Columns of one value; a missing one, or one of the other type, is the middle of its range and said to be
        missing. Shape [width]."""
        if self.scale == "text":
            known = isinstance(value, str)
            return np.append(
                text_code(value) if isinstance(value, str) else np.zeros(WIDTH), float(not known)
            )
        number = math.nan if value is None or isinstance(value, str) else float(value)
        row: Array = self.encode_numbers(np.array([number]))[0]
        return row

    def encode_numbers(self, values: Array) -> Array:
        """The same for many numbers at once, NaN where one is missing. Shape [len(values), 2]."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.scale == "log":
                scaled = np.log(np.where(values > 0, values, np.nan)) - self.shift
            elif self.scale == "log1p":
                scaled = np.sign(values) * np.log1p(np.abs(values) / self.spread) - self.shift
            else:
                scaled = (values - self.shift) / self.spread
        known = np.isfinite(scaled)
        scaled = np.clip(scaled, -_MOST, _MOST)
        return np.stack([np.where(known, scaled, 0.0), np.where(known, 0.0, 1.0)], axis=1)

    def flag(self, value: Value | None) -> str | None:
        """What is unusual about a value, in words; None if the model has seen its like."""
        if value is None:
            return f"{self.name} is missing"
        if isinstance(value, str):
            if self.scale != "text":
                return f"{self.name} is the text {value!r}, a number in training"
            return None if value in self.categories else f"{self.name}={value!r} was never seen in training"
        if self.scale == "text":
            return f"{self.name} is the number {value:g}, a text in training"
        if not self._far(float(value)):
            return None
        return f"{self.name}={value:g} is outside {self.low:g}..{self.high:g} of training"

    def _far(self, value: float) -> bool:
        if self.scale == "log" and self.low > 0:
            return not (value > 0 and self.low * math.exp(-_BEYOND) <= value <= self.high * math.exp(_BEYOND))
        margin = 0.25 * max(self.high - self.low, 1e-12)
        return not self.low - margin <= value <= self.high + margin


@dataclass(frozen=True)
class Choices:
    """What may be, or was, chosen for runs of one context: three arrays of one length, NaN where not known."""

    workers: Array
    memory_mb: Array
    """Of one worker."""
    slots: Array
    """Of one worker."""

    def __post_init__(self) -> None:
        good = np.isfinite(self.workers) & (self.workers > 0)
        if not good.all():
            raise ValueError(f"workers is {self.workers[~good][0]:g}; a forecast needs a number above 0")

    def __len__(self) -> int:
        return len(self.workers)

    @staticmethod
    def grid(pairs: Iterable[tuple[float, float | None]], slots: float | None = None) -> Choices:
        """Candidates (workers, memory_mb), all with the same slots. Raises ValueError for workers not above 0."""
        pairs = list(pairs)
        memory = [math.nan if pair[1] is None else pair[1] for pair in pairs]
        return Choices(
            np.array([pair[0] for pair in pairs], dtype=np.float64),
            np.array(memory, dtype=np.float64),
            np.full(len(pairs), math.nan if slots is None else slots),
        )

    @staticmethod
    def of(runs: Sequence[Execution]) -> Choices:
        """What was chosen for runs that are over."""
        number = [
            [_positive(run.properties.get(name)) or math.nan for run in runs] for name in (MEMORY_MB, SLOTS)
        ]
        workers = np.array([run.workers for run in runs], dtype=np.float64)
        return Choices(workers, np.array(number[0]), np.array(number[1]))


@dataclass(frozen=True)
class Schema:
    """Which features a model has, and what it has seen of each. Stands in the model's card."""

    features: tuple[Feature, ...]
    workers_low: float
    workers_high: float
    contexts: tuple[str, ...] = ()
    """Keys of the contexts whose runs the model was trained on, in the order in which the model numbers them."""

    def block(self, level: Level) -> tuple[Feature, ...]:
        """Features of one block, in the order of their columns."""
        return tuple(feature for feature in self.features if feature.level == level)

    def columns(self, level: Level) -> dict[str, slice]:
        """Where each feature's columns stand in its block."""
        at, out = 0, {}
        for feature in self.block(level):
            out[feature.name] = slice(at, at + feature.width)
            at += feature.width
        return out

    def properties(self, properties: Mapping[str, Value]) -> Array:
        """The property block of one context. Shape [P]."""
        parts = [feature.encode(properties.get(feature.name)) for feature in self.block("property")]
        return np.concatenate(parts) if parts else np.zeros(0)

    def rows(self, properties: Mapping[str, Value], choices: Choices) -> Array:
        """The row block of runs of one context, one row for each choice. Shape [len(choices), R]."""
        if not len(choices):
            return np.zeros((0, sum(feature.width for feature in self.block("row"))))
        known = derived(properties, choices)
        missing = np.full(len(choices), np.nan)
        parts = [feature.encode_numbers(known.get(feature.name, missing)) for feature in self.block("row")]
        return np.concatenate(parts, axis=1)

    def flags(self, properties: Mapping[str, Value]) -> list[str]:
        """What is unusual about a context: unseen categories, numbers out of range, missing and unknown properties."""
        said = [feature.flag(properties.get(feature.name)) for feature in self.block("property")]
        names = {feature.name for feature in self.features}
        new = sorted(name for name in properties if name not in names and name not in RESOURCES)
        unknown = [f"{name} was not among the properties in training and is not used" for name in new]
        return [text for text in said if text] + unknown

    def far(self, workers: float) -> bool:
        """Whether a scale-out lies outside of what training has seen."""
        return not self.workers_low <= workers <= self.workers_high

    def as_dict(self) -> dict[str, Any]:
        """The form in which the schema stands in a card; numbers that are not finite stand as null."""
        document = asdict(self)
        for feature in document["features"]:
            for end in ("low", "high"):
                feature[end] = feature[end] if math.isfinite(feature[end]) else None
        return document

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Schema:
        """Read what `as_dict` wrote."""
        features = []
        for said in document["features"]:
            known = {**said, "categories": tuple(said["categories"])}
            known["low"] = -math.inf if said["low"] is None else said["low"]
            known["high"] = math.inf if said["high"] is None else said["high"]
            features.append(Feature(**known))
        return Schema(
            tuple(features), document["workers_low"], document["workers_high"], tuple(document["contexts"])
        )


def derived(properties: Mapping[str, Value], choices: Choices) -> dict[str, Array]:
    """What choices come to for a context, as the values of the row features (before scaling), NaN where unknown.

    load = volume / (workers x slots), where the volume is bytes, or items where bytes are not known;
    fit = bytes / (workers x memory); imbalance = ceil(tasks / workers) x workers / tasks: the share by which the last
    wave of tasks makes the job longer.
    """
    workers, memory, slots = choices.workers, choices.memory_mb, choices.slots
    volume, items, tasks = (_positive(properties.get(name)) for name in (BYTES, ITEMS, TASKS))
    load = volume or items
    out = {LOG_WORKERS: workers, INVERSE: 1.0 / workers, MEMORY_MB: memory, SLOTS: slots}
    out[TOTAL_SLOTS] = workers * slots
    if load:
        out[LOAD] = load / (workers * np.where(np.isfinite(slots), slots, 1.0))
    if volume:
        out[FIT] = volume / (workers * memory * 1e6)
    name = properties.get(MACHINE)
    sheet = machine(name) if isinstance(name, str) else None
    if sheet:
        per_slot = np.where(np.isfinite(slots), slots, 1.0)
        out[CLOCK] = np.full(len(workers), sheet.clock_ghz)
        out[DISK] = sheet.disk_mbit_s / per_slot
    if tasks:
        out[IMBALANCE] = np.ceil(tasks / workers) * workers / tasks
    return out


def learn_schema(executions: Iterable[Execution]) -> Schema:
    """Take from the records which features there are and the middle and range of each.

    Of row features that are the same but for their unit in all records, the first is taken. A property counts as a text
    if any record has a text there. Raises ValueError if there is no record.
    """
    runs = list(executions)
    if not runs:
        raise ValueError("no execution records: a schema needs at least one")
    contexts = {run.context: run for run in runs}
    names = sorted({name for run in contexts.values() for name in run.properties} - RESOURCES)
    features = [
        _learn(name, [run.properties.get(name) for run in contexts.values()], "property") for name in names
    ]
    known = [derived(run.properties, Choices.of([run])) for run in runs]
    kept: list[Array] = []
    for name in (LOG_WORKERS, INVERSE, MEMORY_MB, SLOTS, TOTAL_SLOTS, LOAD, FIT, IMBALANCE):
        values = np.array([float(row[name][0]) if name in row else math.nan for row in known])
        finite: list[Value | None] = values[np.isfinite(values)].tolist()
        if finite and (name == INVERSE or not any(_same_but_for_unit(values, other) for other in kept)):
            features.append(_learn(name, finite, "row"))
            kept += [] if name == INVERSE else [values]
    for name in SPEEDS:
        finite = [
            value for row in known for value in row.get(name, np.zeros(0)).tolist() if math.isfinite(value)
        ]
        if finite:
            features.append(_learn(name, finite, "row"))
    workers = [run.workers for run in runs]
    return Schema(tuple(features), min(workers), max(workers), tuple(sorted(contexts)))


def _same_but_for_unit(a: Array, b: Array) -> bool:
    """Whether two features differ by a factor only, so that the second would say the same again: on Lambda slots are
    memory in another unit, and bytes per slot are bytes per memory."""
    known = np.isfinite(a)
    if not np.array_equal(known, np.isfinite(b)):
        return False
    ratio = a[known] / b[known]
    return bool(ratio.max() <= ratio.min() * (1 + 1e-9))


def _learn(name: str, values: Sequence[Value | None], level: Level) -> Feature:
    texts = sorted({value for value in values if isinstance(value, str)})
    if texts:
        return Feature(name, level, "text", categories=tuple(texts))
    numbers = np.array([value for value in values if value is not None], dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if name == INVERSE:
        return Feature(name, level, "linear", float(numbers.mean()), 0.5, low, high)  # of one worker or two
    if low > 0 and (level == "row" or name in _VOLUMES):
        return Feature(name, level, "log", float(np.median(np.log(numbers))), 1.0, low, high)
    least = float(np.abs(numbers[numbers != 0]).min()) if np.any(numbers != 0) else 1.0
    most = max(abs(low), abs(high))
    least = max(least, most * _LEAST)
    if low > 0 or most / least > _SPREAD_OF_LOG1P:
        # A parameter or share may be 0 one day though none was so far, and near 0 its effect fades: log(1 + x / least).
        scaled = np.sign(numbers) * np.log1p(np.abs(numbers) / least)
        return Feature(name, level, "log1p", float(np.median(scaled)), least, low, high)
    return Feature(name, level, "linear", (low + high) / 2, (high - low) or max(abs(high), 1.0), low, high)


def _positive(value: Value | None) -> float | None:
    if value is None or isinstance(value, str) or not (math.isfinite(value) and value > 0):
        return None
    return float(value)
