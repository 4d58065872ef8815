"""What is believed of runtimes before the process is asked: a sum of physical costs, none of them negative.

T = sum over terms of weight x {1, volume} x {1, 1/P, log(1 + P), P} x {1, g(property)}, where P are the slots of all
workers (or the workers, where slots are not known): Ernest's form (Venkataraman et al. 2016: fixed cost, parallel work,
tree aggregation, all-to-one cost), each in proportion to the data or not, and more or less with a parameter or data
characteristic. Costs add up, which a process on log-runtime can only learn from many contexts; and
sums of costs go on sensibly beyond the sizes and parameters measured.

Where the machines have data sheets, parallel work is a sum of two: what their processors do and what their disks do,
each 1/(P x speed). Which of them a job is bound by is learned from machines that differ in one and not in
another; what the records cannot tell apart is shared alike.

Terms of properties are taken in one by one, as long as contexts left out are foreseen better. The weights are found by
non-negative least squares of relative errors. Little to learn from leaves the prior: the law that runtime grows with
the data and falls with the workers, both less than in proportion, because part of every job is fixed cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls  # type: ignore[import-untyped]
from torch import Tensor

from bellwren.forecasting.features import LOG_WORKERS, SPEEDS, TOTAL_SLOTS, Array, Feature, Schema
from bellwren.records.execution import BYTES, ITEMS
from training.cells import Cells

FEW_CONTEXTS = 4
"""With fewer contexts than this, nothing is said of properties but the volume."""
MOST_TERMS = 6
"""Of properties."""
GAIN = 0.97
"""A term is taken in if it leaves at most this share of the error of contexts left out."""
BEYOND = 0.5
"""Share of its further growth that an effect keeps above the highest value seen: many saturate, and trends that are
damped foresee better than those that go on (Gardner and McKenzie, "Forecasting Trends in Time Series", 1985)."""
CAPS = 12
"""Steps from the least to the greatest value seen, at which a capped effect may end."""
ALIKE = 1e-3
"""Errors of log-runtime that differ by no more are alike, and the term that comes first is taken."""
FOLDS = 5
_SLOPE_OF_VOLUME, _SLOPE_OF_WORKERS = 0.75, -0.5
_LAW_REACH = 4.0
"""The law is laid on at a quarter and at four times of what was measured..."""
_LAW_WEIGHT = 0.02
"""...and counts as this part of one cell measured."""
_ALIKE = 1e-4
"""Weight of the squares of all weights against those of the errors: what cannot be told apart is shared alike."""
_TINY = 1e-9
_FAR = 1e6
"""No property is followed further than this many times its greatest value seen."""

Scaling = Literal["constant", "inverse", "log", "linear"]
Shape = Literal["linear", "rising", "falling", "capped"]
_FIXED: tuple[Scaling, ...] = ("constant", "inverse", "log", "linear")
_OF_VOLUME: tuple[Scaling, ...] = ("constant", "inverse", "log")
_OF_PROPERTIES: tuple[Scaling, ...] = ("constant", "inverse")


@dataclass(frozen=True)
class Effect:
    """A positive function of one numeric property, 1 at one end of its range."""

    column: int
    """In the property block."""
    feature: Feature
    shape: Shape
    """linear: x / highest; rising: log(1 + x / lowest); falling: log(1 + highest / x); each over its greatest value.
    capped: x up to the cap, and no further: the rounds that an iterative job may take are no longer taken once it has
    converged."""
    cap: float = math.inf

    def of(self, properties: Tensor) -> Tensor:
        """Its value for each context. Shape [C]."""
        high, least = self.feature.high, _least(self.feature)
        value = _decode(self.feature, properties[:, self.column]).clamp(0.0, high * _FAR)
        top = math.log1p(high / least)
        if self.shape == "falling":
            return torch.log1p(high / value.clamp_min(least * 1e-3)) / top
        if self.shape == "capped":
            return value.clamp(max=self.cap) / self.cap
        grown = value / high if self.shape == "linear" else torch.log1p(value / least) / top
        return grown.clamp(max=1.0) + BEYOND * (grown - 1.0).clamp_min(0.0)


@dataclass(frozen=True)
class Term:
    """One cost."""

    volume: bool
    """Whether it is in proportion to the data."""
    scaling: Scaling
    """How it changes with the slots."""
    effect: Effect | None = None
    speed: int | None = None
    """In the row block: log of what divides the work of one slot; None: nothing does."""


@dataclass(frozen=True)
class Trend:
    """Prior mean of log-runtime, but for a level."""

    terms: tuple[Term, ...]
    weights: Array
    """Above 0, one for each term."""
    volume_column: int | None
    """In the property block: log volume."""
    slots_column: int
    """In the row block: log of all slots, or of workers."""
    slots_shift: float

    def of(self, properties: Tensor, rows: Tensor, context_of: Tensor | None = None) -> Tensor:
        """Of each run. Shapes [C, P], [N, R], [N] (None: all of one context) to [N]."""
        costs = self.costs(properties, rows, context_of)
        return (costs @ torch.from_numpy(self.weights)).log()

    def costs(self, properties: Tensor, rows: Tensor, context_of: Tensor | None = None) -> Tensor:
        """Each term without its weight. Shape [N, terms]."""
        log_slots = (rows[:, self.slots_column] + self.slots_shift).clamp(-30.0, 30.0)
        slots = log_slots.exp()
        scaled = {
            "constant": torch.ones_like(slots),
            "inverse": (-log_slots).exp(),
            "log": torch.log1p(slots),
            "linear": slots,
        }
        ones = properties.new_ones(properties.shape[0])
        volume = ones
        if self.volume_column is not None:
            volume = properties[:, self.volume_column].clamp(-60.0, 60.0).exp()
        columns = []
        for term in self.terms:
            own = volume if term.volume else ones
            own = own if term.effect is None else own * (term.effect.of(properties) + _TINY)
            own = own if context_of is None else own.index_select(0, context_of)
            if term.speed is not None:
                own = own * (-rows[:, term.speed].clamp(-30.0, 30.0)).exp()
            columns.append(scaled[term.scaling] * own)
        return torch.stack(columns, dim=1)


def learn_trend(cells: Cells, schema: Schema) -> Trend:
    """Choose terms by leaving contexts out, and fit their weights to all cells."""
    base, effects = _start(schema)
    volumes = (False, True) if base.volume_column is not None else (False,)
    extra = [Term(own, scaling, one) for one in effects for own in volumes for scaling in _OF_PROPERTIES]
    wide = _with(base, (*base.terms, *extra))
    runs = (cells.properties, cells.rows, cells.context_of)
    design = wide.costs(*(torch.from_numpy(part) for part in runs)).numpy() / np.exp(cells.location)[:, None]
    scale = design.max(axis=0)
    count = len(base.terms)
    problem = _Problem(design / scale, _law(base, cells) / scale[:count], cells.context_of)
    chosen = list(range(count))
    if len(cells.keys) >= FEW_CONTEXTS:
        more = range(count, len(wide.terms))
        plain, capped = _sorted_out([wide.terms[at].effect for at in more], count)
        chosen = problem.choose(chosen, plain, capped)
    weights = problem.fit(chosen, np.ones(len(cells), dtype=bool))
    used = [
        (wide.terms[at], weight / scale[at]) for at, weight in zip(chosen, weights, strict=True) if weight > 0
    ]
    return _with(base, tuple(term for term, _ in used), np.array([weight for _, weight in used]))


@dataclass(frozen=True)
class _Problem:
    """Non-negative least squares of relative errors."""

    design: Array
    """Cost over runtime, of every cell and term. Shape [N, J]."""
    law: Array
    """The same of the law's points, for the terms that know no property. Shape [L, B]."""
    context_of: NDArray[np.int64]

    def fit(self, terms: list[int], cells: NDArray[np.bool_]) -> Array:
        """Weights of these terms, from these cells. Shape [len(terms)]."""
        rows = self.design[cells][:, terms]
        law = np.zeros((len(self.law), len(terms)))
        known = [at for at, term in enumerate(terms) if term < self.law.shape[1]]
        law[:, known] = self.law[:, [terms[at] for at in known]]
        part = math.sqrt(_LAW_WEIGHT / len(law))
        alike = math.sqrt(_ALIKE * len(rows)) * np.eye(len(terms))
        aim = np.concatenate([np.ones(len(rows)), np.full(len(law), part), np.zeros(len(terms))])
        found: Array = nnls(np.concatenate([rows, part * law, alike]), aim)[0]
        return found

    def error(self, terms: list[int]) -> float:
        """Mean absolute error of log-runtime in contexts left out."""
        order = np.random.default_rng(0).permutation(int(self.context_of.max()) + 1)
        fold_of = np.empty_like(order)
        fold_of[order] = np.arange(len(order)) % FOLDS
        errors = []
        for fold in range(min(FOLDS, len(order))):
            hidden = fold_of[self.context_of] == fold
            foreseen = self.design[hidden][:, terms] @ self.fit(terms, ~hidden)
            errors.append(np.abs(np.log(np.maximum(foreseen, _TINY))))
        return float(np.concatenate(errors).mean())

    def choose(self, terms: list[int], more: list[int], capped: Mapping[int, list[int]]) -> list[int]:
        """Take in the term that helps most, again and again: in the shape, or with the cap, that helps most."""
        least = self.error(terms)
        for _ in range(MOST_TERMS):
            tried = [self._tried(terms, one) for one in more if one not in terms]
            if not tried:
                break
            tried += [self._tried(terms, one) for one in capped.get(min(tried)[1], []) if one not in terms]
            if min(tried)[0] > GAIN * least:
                break
            least, one = min(tried)
            terms = [*terms, one]
        return terms

    def _tried(self, terms: list[int], one: int) -> tuple[float, int]:
        """The error with one term more, to `ALIKE`; and the term."""
        return ALIKE * round(self.error([*terms, one]) / ALIKE), one


def _start(schema: Schema) -> tuple[Trend, list[Effect]]:
    """The terms that every algorithm has, and the effects that properties may have."""
    columns_p, columns_r = schema.columns("property"), schema.columns("row")
    slots = TOTAL_SLOTS if TOTAL_SLOTS in columns_r else LOG_WORKERS
    shift = next(one.shift for one in schema.block("row") if one.name == slots)
    volume = next((name for name in (BYTES, ITEMS) if _has_log(schema, name)), None)
    speeds = [columns_r[name].start for name in SPEEDS if name in columns_r]
    terms = tuple(term for scaling in _FIXED for term in _at_speeds(Term(False, scaling), speeds))
    if volume:
        terms += tuple(term for scaling in _OF_VOLUME for term in _at_speeds(Term(True, scaling), speeds))
    effects = [
        effect
        for feature in schema.block("property")
        if feature.name != volume
        for effect in _effects(columns_p[feature.name].start, feature)
    ]
    column = columns_p[volume].start if volume else None
    return Trend(terms, np.ones(len(terms)), column, columns_r[slots].start, shift), effects


def _at_speeds(term: Term, speeds: list[int]) -> tuple[Term, ...]:
    """Parallel work as what each part of a machine does of it."""
    if term.scaling != "inverse" or not speeds:
        return (term,)
    return tuple(replace(term, speed=one) for one in speeds)


def _with(trend: Trend, terms: tuple[Term, ...], weights: Array | None = None) -> Trend:
    weights = np.ones(len(terms)) if weights is None else weights
    return Trend(terms, weights, trend.volume_column, trend.slots_column, trend.slots_shift)


def _effects(column: int, feature: Feature) -> list[Effect]:
    """What a property can be taken for, if it is a number of one sign that varies."""
    if feature.scale == "text" or not 0 <= feature.low < feature.high < math.inf:
        return []
    high = feature.high
    # The highest first: of those that do alike, the first is taken.
    caps = [feature.low + (high - feature.low) * at / CAPS for at in range(CAPS - 1, 0, -1)]
    shapes: tuple[Shape, ...] = ("linear", "rising", "falling") if feature.low > 0 else ("linear", "rising")
    return [Effect(column, feature, shape) for shape in shapes] + [
        Effect(column, feature, "capped", cap) for cap in caps
    ]


def _sorted_out(effects: list[Effect | None], first: int) -> tuple[list[int], dict[int, list[int]]]:
    """Places of the terms without a cap, and for each of them those with one of the same property."""
    plain: dict[int, int] = {}
    capped: dict[int, list[int]] = {}
    for at, effect in enumerate(effects, start=first):
        assert effect is not None
        if effect.shape == "capped":
            capped.setdefault(effect.column, []).append(at)
        else:
            plain[at] = effect.column
    return list(plain), {at: capped.get(column, []) for at, column in plain.items()}


def _least(feature: Feature) -> float:
    """The lowest value above 0, or a hundredth of the highest."""
    return max(feature.low, feature.high / 100)


def _decode(feature: Feature, column: Tensor) -> Tensor:
    """The number that a column was encoded from (see `Feature.encode_numbers`)."""
    if feature.scale == "linear":
        return column * feature.spread + feature.shift
    scaled = (column + feature.shift).clamp(-60.0, 60.0)
    if feature.scale == "log":
        return scaled.exp()
    return torch.sign(scaled) * feature.spread * (scaled.abs().exp() - 1.0)


def _has_log(schema: Schema, name: str) -> bool:
    return any(feature.name == name and feature.scale == "log" for feature in schema.block("property"))


def _law(base: Trend, cells: Cells) -> Array:
    """Costs over the law's runtime, at the corners of volume and slots around what was measured. Shape [L, B]."""
    slots = cells.rows[:, base.slots_column]
    column = base.volume_column
    volumes = cells.properties[:, column] if column is not None else np.zeros(1)
    corners = [(x, v) for x in _reach(slots) for v in (_reach(volumes) if column is not None else (0.0,))]
    rows = np.zeros((len(corners), cells.rows.shape[1]))
    rows[:, base.slots_column] = [x for x, _ in corners]
    properties = np.zeros((len(corners), cells.properties.shape[1]))
    if column is not None:
        properties[:, column] = [v for _, v in corners]
    middle = cells.location.mean() - _SLOPE_OF_WORKERS * slots.mean() - _SLOPE_OF_VOLUME * volumes.mean()
    law = [middle + _SLOPE_OF_WORKERS * x + _SLOPE_OF_VOLUME * v for x, v in corners]
    of = torch.arange(len(corners))
    return base.costs(torch.from_numpy(properties), torch.from_numpy(rows), of).numpy() / np.exp(law)[:, None]


def _reach(logs: Array) -> tuple[float, float]:
    """A quarter of the least and four times the greatest."""
    return float(logs.min()) - math.log(_LAW_REACH), float(logs.max()) + math.log(_LAW_REACH)
