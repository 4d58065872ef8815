"""Named arrays in slices, each with what has been added to it, in the runner."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bellwren.engine.training.slices import Block, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KEPT_LOSSES = 1000
"""Most losses that are kept; of more every second, fourth, ... one."""

Loss = tuple[float, int, int, float]
"""When it came in (Unix time), the how manieth push of its shard it came with, the shard, and the loss."""


@dataclass
class Slice:
    """One slice at one moment. It is replaced as a whole, so what is in storage is always of one moment, and finite."""

    arrays: dict[str, Array]
    """The rows of each array that lie here."""
    version: int = 0
    """Pushes that are in."""
    pushed: dict[int, int] = field(default_factory=dict)
    """For each shard the number behind its last push that is in."""
    losses: list[Loss] = field(default_factory=list)
    """Of pushes that were counted here."""
    every: int = 1
    """Of so many pushes the loss of one is kept."""

    @staticmethod
    def decode(data: bytes | memoryview) -> Slice:
        """Read back what ``encode`` wrote."""
        return Slice(*pickle.loads(data))  # noqa: S301  written by `encode`

    def encode(self) -> bytes:
        """The slice as one object."""
        return pickle.dumps((self.arrays, self.version, self.pushed, self.losses, self.every), 5)

    def has(self, shard: int, number: int) -> bool:
        """Whether a push is in, or one after it."""
        return number < self.pushed.get(shard, 0)

    def after(
        self, shard: int, number: int, update: Mapping[str, Array], loss: tuple[float, float] | None = None
    ) -> Slice:
        """The slice with a push added; ``loss`` is when it came in and what it was.

        Raises:
            FloatingPointError: if a parameter were not finite then; shard and number are named.
            ValueError: if an array has another shape than its update.
        """
        import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that train

        arrays = dict(self.arrays)
        with np.errstate(over="ignore", invalid="ignore"):
            for name, value in update.items():
                known = arrays.get(name)
                if known is not None and known.shape != value.shape:
                    # Another push may have been the first to name it.
                    raise ValueError(f"push: {name!r} has the shape {known.shape}, its update {value.shape}")
                arrays[name] = value if known is None else np.asarray(known + value).astype(known.dtype)
        for name in update:
            if not np.isfinite(arrays[name]).all():
                raise FloatingPointError(
                    f"shard {shard}, step {number}, would make parameter {name!r} infinite; it was refused, and the "
                    "parameters are as before. Lower the learning rate, or bound the staleness"
                )
        losses, every = self.losses, self.every
        if loss is not None and self.version % every == 0:
            losses = [*losses, (loss[0], number, shard, loss[1])]
            if len(losses) > KEPT_LOSSES:
                losses, every = losses[::2], every * 2
        pushed = {**self.pushed, shard: number + 1}
        return replace(
            self, arrays=arrays, version=self.version + 1, pushed=pushed, losses=losses, every=every
        )


def given_arrays(given: Mapping[str, Any]) -> dict[str, Array]:
    """Parameters as the job gives them, as arrays.

    Raises:
        ValueError: if one is not finite.
    """
    import numpy as np  # noqa: PLC0415  as above

    arrays = {}
    for name, value in given.items():
        array = np.array(value, dtype=np.result_type(np.asarray(value).dtype, np.float32))
        if not np.isfinite(array).all():
            raise ValueError(f"parameter {name!r} is not finite at the start; give finite numbers")
        arrays[name] = array
    return arrays


def shapes_of(arrays: Mapping[str, Array]) -> dict[str, Shape]:
    """What there is to cut."""
    return {
        name: Shape(len(array), array.nbytes // max(1, len(array))) if array.ndim else Shape(1, array.nbytes)
        for name, array in arrays.items()
    }


def rows_of(arrays: Mapping[str, Array], blocks: Iterable[Block]) -> dict[str, Array]:
    """Those rows of the arrays that lie in some blocks."""
    return {
        name: arrays[name][start:stop] if arrays[name].ndim else arrays[name]
        for name, start, stop in blocks
        if name in arrays
    }


def joined(slices: Iterable[Slice]) -> dict[str, Array]:
    """The arrays of which slices, in order, hold the rows: copies."""
    import numpy as np  # noqa: PLC0415  as above

    rows: dict[str, list[Array]] = {}
    for one in slices:
        for name, array in one.arrays.items():
            rows.setdefault(name, []).append(array)
    return {
        name: np.concatenate(parts) if len(parts) > 1 else parts[0].copy() for name, parts in rows.items()
    }


def plain(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Arrays as the user gets them: plain numbers where there are no dimensions."""
    return {name: array if array.ndim else float(array) for name, array in arrays.items()}


def pushes(slices: Iterable[Slice]) -> int:
    """How many pushes are in: a push that went to several slices counts once."""
    most: dict[int, int] = {}
    for one in slices:
        for shard, number in one.pushed.items():
            most[shard] = max(most.get(shard, 0), number)
    return sum(most.values())


def course(slices: Iterable[Slice]) -> list[list[Any]]:
    """``[push of its shard, shard, loss]`` in order of time, at most ``KEPT_LOSSES``."""
    found = sorted(loss for one in slices for loss in one.losses)
    while len(found) > KEPT_LOSSES:
        found = found[::2]
    return [[number, shard, loss] for _, number, shard, loss in found]


def finite(loss: float | None) -> float | None:
    """A loss that can be noted; None for one that is none."""
    return None if loss is None or not math.isfinite(loss) else float(loss)
