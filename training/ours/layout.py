"""Which columns each part of the kernel works on, and the priors of its parameters, from a schema alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bellwren.forecasting.features import FIT, INVERSE, LOAD, LOG_WORKERS, SPEEDS, TOTAL_SLOTS, Array, Schema
from bellwren.records.execution import MEMORY_MB, SLOTS


@dataclass(frozen=True)
class Block:
    """Columns of one feature."""

    name: str
    columns: slice

    @property
    def text(self) -> bool:
        """Whether it is the code of a text."""
        return int(self.columns.stop) - int(self.columns.start) > 2


@dataclass(frozen=True)
class Gate:
    """A feature beyond whose threshold a job behaves otherwise: the memory that no longer holds the data."""

    column: int
    """In the row block."""
    sign: float
    """-1 where small values are the heavy ones."""


@dataclass(frozen=True)
class Layout:
    """What the kernel needs to know of a schema."""

    properties: tuple[Block, ...]
    rows: tuple[Block, ...]
    """Row features that distances are taken in."""
    trends: tuple[Block, ...]
    """Row features of the linear kernel only, which say the same as others: 1/workers, and log workers where slots are
    known (the work is shared by slots, however many machines they are on)."""
    chosen: tuple[Block, ...]
    """Row features that were chosen (workers, memory, slots): what the runs of one context differ in."""
    gates: tuple[Gate, ...]
    workers_column: int

    @property
    def features(self) -> tuple[Block, ...]:
        """All features that distances are taken in: properties first."""
        return self.properties + self.rows


def lay_out(schema: Schema) -> Layout:
    """Sort a schema's features by what the kernel does with them."""
    row = {name: Block(name, columns) for name, columns in schema.columns("row").items()}
    gates = tuple(Gate(row[name].columns.start, 1.0) for name in (FIT, LOAD) if name in row)
    workers = row[LOG_WORKERS].columns.start
    trends = {INVERSE, LOG_WORKERS} if TOTAL_SLOTS in row else {INVERSE}
    return Layout(
        properties=tuple(Block(name, columns) for name, columns in schema.columns("property").items()),
        rows=tuple(block for name, block in row.items() if name not in trends and name not in SPEEDS),
        trends=tuple(block for name, block in row.items() if name in trends),
        chosen=tuple(row[name] for name in (LOG_WORKERS, MEMORY_MB, SLOTS) if name in row),
        gates=gates or (Gate(workers, -1.0),),
        workers_column=workers,
    )


@dataclass(frozen=True)
class Prior:
    """Log-normal prior of one group of kernel parameters: most are positive scales."""

    name: str
    median: float
    spread: float
    """Standard deviation of the logarithm."""
    medians: tuple[float, ...] = ()
    """Of each parameter, where there are several."""

    @property
    def size(self) -> int:
        """Parameters of the group."""
        return len(self.medians) or 1


LENGTH = 1.5
TEXT_LENGTH = 0.5
MEMORY_SLOPE = 0.2


def priors(layout: Layout) -> tuple[Prior, ...]:
    """The priors, each with its reason. Features are in e-folds, runtimes in log seconds, so all are without unit.

    They say: contexts of one algorithm differ by tens of per cent to a few e-folds; runtime bends over one to three
    e-folds of a feature; effects of single features are larger than those of pairs, and these than of triples; two
    contexts equal in all that is known differ by some 10 %, their curves by 5 %; one cell by 2 % beyond its repeats.
    Every spread is an e-fold or less, so the data can move each by a factor of three with ease.

    Codes of texts that have nothing in common are one apart (see `forecasting.text`), and must not pass for alike.
    Memory beyond what the data needs speeds nothing up, so where slots say how fast a machine is (be they the same for
    all machines), memory has little slope; what too little of it does is the gates' to say.
    """
    lengths = tuple(TEXT_LENGTH if block.text else LENGTH for block in layout.features)
    weights = (1.0,) * len(lengths)
    slotted = any(block.name in (SLOTS, TOTAL_SLOTS) for block in layout.rows)
    slopes = tuple(
        MEMORY_SLOPE if slotted and block.name in (MEMORY_MB, FIT) else 1.0
        for block in layout.features + layout.trends
    )
    return (
        Prior("linear", 0.3, 1.0),
        Prior("main", 0.1, 1.0),
        Prior("pair", 0.1, 1.0),
        Prior("triple", 0.1, 1.0),
        Prior("offset", 0.1, 1.0),
        Prior("curve", 0.05, 1.0),
        Prior("curve_length", 1.0, 0.7),
        Prior("cell", 0.02, 1.0),
        Prior("noise", 1.0, 0.5),
        Prior("gate", 0.5, 1.0),
        Prior("gate_width", 0.15, 0.5),
        Prior("gate_length", 1.0, 0.7),
        Prior("length", LENGTH, 0.7, lengths),
        Prior("weight", 1.0, 0.7, weights),
        Prior("slope", 1.0, 1.0, slopes),
    )


GATE_QUANTILE = 0.85
"""Where a threshold is looked for first: the heaviest seventh of the runs."""
GATE_SPREAD = 0.5


def gate_thresholds(layout: Layout, rows: Array) -> Array:
    """Prior mean of each gate's threshold. Shape [G]."""
    return np.array([np.quantile(gate.sign * rows[:, gate.column], GATE_QUANTILE) for gate in layout.gates])


def initial(layout: Layout, rows: Array) -> tuple[Array, Array]:
    """Prior mean and spread of the whole parameter vector: the gates' thresholds, then logs of the rest."""
    thresholds = gate_thresholds(layout, rows)
    mean, spread = list(thresholds), [GATE_SPREAD] * len(thresholds)
    for prior in priors(layout):
        mean += [math.log(median) for median in prior.medians or (prior.median,)]
        spread += [prior.spread] * prior.size
    return np.array(mean), np.array(spread)
