"""The covariance of two runs' log-runtimes.

k = level + linear + (main effects + pairs + triples) + gated + same context, where

- main effects, pairs and triples are the elementary symmetric polynomials of one-feature Gaussian kernels (Duvenaud,
  Nickisch and Rasmussen, "Additive Gaussian Processes", 2011), what two features do apart
  carries over to combinations never seen;
- linear lets trends go on beyond the data: Ernest's terms 1/x and log x among them;
- gated is a second, rougher process that is on only where the data no longer fits the memory or the load of a worker
  is high (a logistic gate on a row feature), so that a cliff does not make the model expect roughness elsewhere;
- same context is an offset and a curve of a context's own, and one cell's own deviation: what few-shot runs pin down.

Every function here is traced into the ONNX file, so it uses nothing but tensor arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from training.ours.layout import Block, Layout, priors

LEVEL = 1.0
"""Variance of the common level about the records' mean."""


@dataclass(frozen=True)
class Side:
    """Runs on one side of a covariance matrix."""

    properties: Tensor
    """One row for each context. Shape [C, P]."""
    rows: Tensor
    """Shape [N, R]."""
    context_of: Tensor | None = None
    """Shape [N]; None: all of one context (C = 1)."""


Parameters = dict[str, Tensor]


def unpack(vector: Tensor, layout: Layout) -> Parameters:
    """Kernel parameters by name, from the vector that is optimised (see `layout.initial`)."""
    gates = len(layout.gates)
    out, at = {"threshold": vector[:gates]}, gates
    for prior in priors(layout):
        out[prior.name] = vector[at : at + prior.size].exp()
        at += prior.size
    return out


def similarity(a: Tensor, b: Tensor, lift: Tensor | float = 0.0) -> Tensor:
    """lift - |a - b|^2 / 2 for all pairs, by one matrix product. Shapes [..., N, D], [..., M, D] to [..., N, M]."""
    left = torch.cat([a, -0.5 * (a**2).sum(-1, keepdim=True), torch.ones_like(a[..., :1])], dim=-1)
    right = torch.cat([b, torch.ones_like(b[..., :1]), lift - 0.5 * (b**2).sum(-1, keepdim=True)], dim=-1)
    return left @ right.transpose(-1, -2)


def _spread(matrix: Tensor, a: Side, b: Side) -> Tensor:
    """From contexts to runs: [Ca, Cb] to something that broadcasts to [Na, Nb]."""
    if a.context_of is not None:
        matrix = matrix.index_select(0, a.context_of)
    return matrix if b.context_of is None else matrix.index_select(1, b.context_of)


def _scaled(side: Tensor, slopes: Tensor, columns: list[slice]) -> Tensor:
    """The columns of some features, each times its feature's slope: two operations, however many features there are."""
    numbers = [list(range(where.start, where.stop)) for where in columns]
    owner = torch.tensor([at for at, own in enumerate(numbers) for _ in own])
    picked = side.index_select(1, torch.tensor([number for own in numbers for number in own]))
    return picked * slopes.index_select(0, owner)


def _linear(p: Parameters, layout: Layout, a: Side, b: Side) -> Tensor:
    """Product of the features, each column weighted by its feature's slope."""
    count = len(layout.properties)
    total = torch.zeros((), dtype=a.rows.dtype)
    if count:
        columns = [block.columns for block in layout.properties]
        slopes = p["slope"][:count]
        between = _scaled(a.properties, slopes, columns) @ _scaled(b.properties, slopes, columns).T
        total = _spread(between, a, b)
    columns = [block.columns for block in layout.rows + layout.trends]
    slopes = p["slope"][count:]
    return total + _scaled(a.rows, slopes, columns) @ _scaled(b.rows, slopes, columns).T


Polynomials = tuple[Tensor, Tensor, Tensor]
"""The first three elementary symmetric polynomials of the features' kernels."""


def _widen(kernels: Iterable[Tensor], e: Polynomials) -> Polynomials:
    """Take more features into the polynomials: e_k(with z) = e_k + z e_(k-1)."""
    first, second, third = e
    for z in kernels:
        third = third + z * second
        second = second + z * first
        first = first + z
    return first, second, third


def _features(
    p: Parameters, offset: int, blocks: tuple[Block, ...], a: Tensor, b: Tensor
) -> Iterator[Tensor]:
    """One kernel for each feature: weight^2 exp(-|a - b|^2 / 2 length^2). Features of one width are done together."""
    widths = [block.columns.stop - block.columns.start for block in blocks]
    for width in sorted(set(widths)):
        members = [at for at, one in enumerate(widths) if one == width]
        columns = torch.tensor([at for one in members for at in range(*blocks[one].columns.indices(10**9))])
        which = torch.tensor(members) + offset
        length = p["length"].index_select(0, which)[:, None, None]
        left, right = (
            side.index_select(1, columns).reshape(-1, len(members), width).permute(1, 0, 2) / length
            for side in (a, b)
        )
        lift = 2 * p["weight"].index_select(0, which).log()[:, None, None]
        yield from torch.exp(similarity(left, right, lift)).unbind(0)


def _nearness(p: Parameters, offset: int, blocks: tuple[Block, ...], a: Tensor, b: Tensor) -> Tensor:
    """-distance^2 / 2 over all features of a block, each by its length."""
    columns = [block.columns for block in blocks]
    scale = 1 / (p["length"][offset : offset + len(blocks)] * p["gate_length"])
    return similarity(_scaled(a, scale, columns), _scaled(b, scale, columns))


def _gates(p: Parameters, layout: Layout, side: Side) -> Tensor:
    """How far each gate is open. Shape [N, G]."""
    columns = torch.stack([gate.sign * side.rows[:, gate.column] for gate in layout.gates], dim=1)
    return torch.sigmoid((columns - p["threshold"]) / p["gate_width"])


def between(p: Parameters, layout: Layout, a: Side, b: Side) -> Tensor:
    """Covariance of runs of contexts that are not the same. Shape [Na, Nb]."""
    linear = _linear(p, layout, a, b)
    count = len(layout.properties)
    zero = torch.zeros((1, 1), dtype=a.rows.dtype)
    e: Polynomials = (zero, zero, zero)
    near = _nearness(p, count, layout.rows, a.rows, b.rows)
    if layout.properties:
        contexts = (a.properties, b.properties)
        first, second, third = _widen(_features(p, 0, layout.properties, *contexts), e)
        e = (_spread(first, a, b), _spread(second, a, b), _spread(third, a, b))
        near = near + _spread(_nearness(p, 0, layout.properties, *contexts), a, b)
    first, second, third = _widen(_features(p, count, layout.rows, a.rows, b.rows), e)
    smooth = p["main"] ** 2 * first + p["pair"] ** 2 * second + p["triple"] ** 2 * third
    opened = _gates(p, layout, a) @ (_gates(p, layout, b).T * (p["gate"] ** 2 / len(layout.gates)))
    return LEVEL + p["linear"] ** 2 * linear + smooth + opened * (1 + torch.exp(near) + linear)


def within(p: Parameters, layout: Layout, a: Side, b: Side) -> Tensor:
    """What is added where the contexts are the same. Shape [Na, Nb]."""
    columns = [block.columns for block in layout.chosen]
    left, right = (torch.cat([side.rows[:, where] for where in columns], dim=1) for side in (a, b))
    near = similarity(left, right)
    curve = p["curve"] ** 2 * torch.exp(near / p["curve_length"] ** 2)
    cell = p["cell"] ** 2 * (near > -1e-9).to(near.dtype)
    return p["offset"] ** 2 + curve + cell


def covariance(p: Parameters, layout: Layout, a: Side, b: Side, same: Tensor) -> Tensor:
    """Covariance of the expected log-runtimes of runs; `same` [Ca, Cb] is 1 where contexts are one. Shape [Na, Nb]."""
    return between(p, layout, a, b) + _spread(same, a, b) * within(p, layout, a, b)


def variance(p: Parameters, layout: Layout, side: Side) -> Tensor:
    """The diagonal of a side's covariance with itself. Shape [N]."""
    weight = p["weight"]
    first, second, third = (weight**2).sum(), (weight**4).sum(), (weight**6).sum()
    pairs = 0.5 * (first**2 - second)
    triples = (pairs * first - first * second + third) / 3
    smooth = p["main"] ** 2 * first + p["pair"] ** 2 * pairs + p["triple"] ** 2 * triples
    linear = _linear_diagonal(p, layout, side)
    opened = (_gates(p, layout, side) ** 2).sum(-1) / len(layout.gates)
    own = p["offset"] ** 2 + p["curve"] ** 2 + p["cell"] ** 2
    return LEVEL + p["linear"] ** 2 * linear + smooth + p["gate"] ** 2 * opened * (2 + linear) + own


def _linear_diagonal(p: Parameters, layout: Layout, side: Side) -> Tensor:
    count = len(layout.properties)
    columns = [block.columns for block in layout.rows + layout.trends]
    total = (_scaled(side.rows, p["slope"][count:], columns) ** 2).sum(-1)
    if not count:
        return total
    blocks = [block.columns for block in layout.properties]
    squares = (_scaled(side.properties, p["slope"][:count], blocks) ** 2).sum(-1)
    return total + (squares if side.context_of is None else squares.index_select(0, side.context_of))
