"""The learned posterior as a torch module: what is exported to ONNX, and what the evaluation itself runs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from training.ours import kernel
from training.ours.fit import General

_BANDWIDTH = 0.1
"""Of the smoothing of noise over log workers: scale-outs a tenth of an e-fold apart share theirs."""
OUTPUTS = ("mean", "variance", "noise", "record_mean", "record_noise", "cross", "record_covariance")
"""What every family's graph answers, in this order (see `bellwren.forecasting.update.Prior`)."""


class OursGraph(nn.Module):
    """Log-runtime of candidates of one context, and how runs of that context bear on them.

    Inputs, all float64 but `known`: `properties` [1, P]; `known` int64 [1], the context's number in training or -1;
    `candidates` [B, R]; `records` [n, R], n may be 0.
    """

    def __init__(self, general: General) -> None:
        super().__init__()
        self.layout = general.layout
        self.level = general.level
        self.trend = general.trend
        self.contexts = len(general.keys)
        for name, tensor in kernel.unpack(general.vector, general.layout).items():
            self.register_buffer(f"p_{name}", tensor.detach().clone())
        self.names = [name.removeprefix("p_") for name, _ in self.named_buffers()]
        assert general.inducing.context_of is not None
        numbers = torch.tensor(
            [general.schema.contexts.index(key) for key in general.keys], dtype=torch.int64
        )
        buffers = {
            # Of each inducing cell's context.
            "z_numbers": numbers[general.inducing.context_of],
            "z_properties": general.inducing.properties,
            "z_rows": general.inducing.rows,
            "z_context_of": general.inducing.context_of,
            "weights": general.weights,
            "root": general.root,
            "noise_at": torch.from_numpy(general.noise.log_workers),
            "noise_log": torch.from_numpy(general.noise.log_variance),
        }
        for name, tensor in buffers.items():
            self.register_buffer(name, tensor.detach().clone().contiguous())
        workers = next(feature for feature in general.schema.features if feature.name == "log workers")
        self.workers_shift = workers.shift

    def forward(
        self, properties: Tensor, known: Tensor, candidates: Tensor, records: Tensor
    ) -> tuple[Tensor, ...]:
        """Returns the tensors named in `OUTPUTS`."""
        p = {name: self.get_buffer(f"p_{name}") for name in self.names}
        get = self.get_buffer
        rows = torch.cat([candidates, records])
        count, cells = candidates.shape[0], get("z_rows").shape[0]
        runs, shown = kernel.Side(properties, rows), kernel.Side(properties, records)
        # Inducing cells and runs shown as one side: half the operations, of which a small model's time consists.
        place = torch.full_like(records[:, 0], self.contexts).to(torch.int64)
        others = kernel.Side(
            torch.cat([get("z_properties"), properties]),
            torch.cat([get("z_rows"), records]),
            torch.cat([get("z_context_of"), place]),
        )
        shared = kernel.between(p, self.layout, runs, others)
        # What the context has in common with its own few inducing cells, and with no others.
        own = torch.nonzero(get("z_numbers") == known)[:, 0]
        inside = kernel.within(
            p, self.layout, runs, kernel.Side(properties, get("z_rows").index_select(0, own))
        )
        root, weights = get("root"), get("weights")
        with_cells = shared[:, :cells]
        projected = with_cells @ root + inside @ root.index_select(0, own)
        trend = self.trend.of(properties, rows)
        mean = with_cells @ weights + inside @ weights.index_select(0, own) + trend + self.level
        between = shared[:, cells:] + kernel.within(p, self.layout, runs, shown)
        between = between - projected @ projected[count:].T
        variance = (kernel.variance(p, self.layout, runs) - (projected**2).sum(-1)).clamp_min(0.0)
        noise = self._noise(rows)
        return (
            mean[:count],
            variance[:count],
            noise[:count],
            mean[count:],
            noise[count:],
            between[:count],
            between[count:],
        )

    def _noise(self, rows: Tensor) -> Tensor:
        at = rows[:, self.layout.workers_column] + self.workers_shift
        near = torch.softmax(
            -0.5 * ((at[:, None] - self.get_buffer("noise_at")[None, :]) / _BANDWIDTH) ** 2, dim=1
        )
        return (
            torch.exp((near * self.get_buffer("noise_log")[None, :]).sum(-1))
            * self.get_buffer("p_noise") ** 2
        )
