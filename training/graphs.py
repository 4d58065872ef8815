"""Graphs of the other families, with the inputs and outputs that serving knows (`bellwren.forecasting.update.Prior`).

Every family's file takes runs of the context as well: what it says of them against what they took moves its answer for
the candidates by a common factor, as far as the spread between contexts allows (a random effect, in closed form).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bellwren.forecasting import bits
from bellwren.forecasting.features import Array
from training.bellamy.network import LAYERS, Stack

Answer = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def with_offset(candidates: Tensor, records: Tensor, offset: Tensor, noise: Tensor) -> Answer:
    """Means of candidates [B] and records [n], with a common offset of variance `offset` and noise `noise`."""
    return (
        candidates,
        offset + 0 * candidates,
        noise + 0 * candidates,
        records,
        noise + 0 * records,
        offset + 0 * (candidates[:, None] + records[None, :]),
        offset + 0 * (records[:, None] + records[None, :]),
    )


class TableGraph(nn.Module):
    """Curves of contexts over scale-out, tabulated: how families that know one context at a time are served.

    Between the points of the table, log-runtime is linear in log workers; beyond its ends it stays what it is there.
    """

    def __init__(self, log_workers: Array, tables: Array, offsets: Array, noise: float) -> None:
        """`log_workers` [G], rising; `tables` [C + 1, G] in log seconds, the last row for contexts not known;
        `offsets` [C + 1]: variance between a context and its row."""
        super().__init__()
        self.register_buffer("at", torch.from_numpy(log_workers))
        self.register_buffer("tables", torch.from_numpy(tables))
        self.register_buffer("offsets", torch.from_numpy(offsets))
        self.register_buffer("spread", torch.tensor(noise, dtype=torch.float64))

    def forward(self, properties: Tensor, known: Tensor, candidates: Tensor, records: Tensor) -> Answer:
        """Inputs as of `OursGraph`; rows are the workers alone [B, 1]."""
        tables = self.get_buffer("tables")
        row = torch.where(known < 0, torch.full_like(known, tables.shape[0] - 1), known)
        curve = tables.index_select(0, row)
        offset = self.get_buffer("offsets").index_select(0, row)[0]
        return with_offset(
            self._read(curve, candidates), self._read(curve, records), offset, self.get_buffer("spread")
        )

    def _read(self, curve: Tensor, rows: Tensor) -> Tensor:
        """Linear interpolation as a sum of hat functions. [1, G] and [B, 1] to [B]."""
        at = self.get_buffer("at")
        x = torch.minimum(torch.maximum(rows.log(), at[0]), at[-1])
        gaps = at[1:] - at[:-1]
        share = ((x - at[None, :-1]) / gaps[None, :]).clamp(0.0, 1.0)
        rises = curve[:, 1:] - curve[:, :-1]
        return curve[0, 0] + (share * rises).sum(-1)


class BellamyGraph(nn.Module):
    """One pre-trained Bellamy model, in float64 so that the file and the model agree to the last digits that matter."""

    def __init__(
        self, stack: Stack, at: int, scaling: tuple[Array, Array], offset: float, noise: float
    ) -> None:
        super().__init__()
        for name in LAYERS:
            for part in ("weight", "bias") if LAYERS[name][2] else ("weight",):
                value = stack.get_parameter(f"{name}_{part}")[at].detach().double()
                self.register_buffer(f"{name}_{part}", value.clone())
        low, high = scaling
        width = torch.from_numpy(high - low)
        self.register_buffer("low", torch.from_numpy(low.copy()))
        self.register_buffer("width", torch.where(width > 0, width, torch.ones_like(width)))
        self.register_buffer("offset", torch.tensor(offset, dtype=torch.float64))
        self.register_buffer("noise", torch.tensor(noise, dtype=torch.float64))

    def forward(self, properties: Tensor, known: Tensor, candidates: Tensor, records: Tensor) -> Answer:
        """`properties` [1, 200]: five vectors; rows [B, 126]: scale-out, three optional vectors, which are known."""
        count = candidates.shape[0]
        rows = torch.cat([candidates, records])
        essential = self._encode(properties.reshape(-1, bits.WIDTH)).reshape(1, -1)
        vectors = rows[:, 3 : 3 + 3 * bits.WIDTH].reshape(-1, 3, bits.WIDTH)
        told = rows[:, 3 + 3 * bits.WIDTH :]
        pooled = (self._encode(vectors) * told[..., None]).sum(1) / told.sum(1, keepdim=True).clamp_min(1.0)
        scaled = (rows[:, :3] - self.get_buffer("low")) / self.get_buffer("width")
        curve = self._selu("f2", self._selu("f1", scaled))
        context = essential + torch.zeros_like(rows[:, :1])
        hidden = self._selu("z1", torch.cat([curve, context, pooled], dim=1))
        mean = self._selu("z2", hidden)[:, 0].clamp_min(1e-3).log()
        unused = 0 * known.to(mean.dtype).sum()
        return with_offset(
            mean[:count] + unused, mean[count:], self.get_buffer("offset"), self.get_buffer("noise")
        )

    def _encode(self, vectors: Tensor) -> Tensor:
        return self._selu("g2", self._selu("g1", vectors))

    def _selu(self, name: str, x: Tensor) -> Tensor:
        out = x @ self.get_buffer(f"{name}_weight")
        if LAYERS[name][2]:
            out = out + self.get_buffer(f"{name}_bias")
        return nn.functional.selu(out)
