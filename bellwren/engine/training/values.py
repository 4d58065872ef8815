"""Named arrays that are the sum of a log of updates, in the runner."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KEPT_LOSSES = 1000
"""Most losses that are kept; of more every second, fourth, ... one."""
_LENGTH = struct.Struct("<Q")


def encode_update(shard: int, number: int, loss: float | None, update: Mapping[str, Array]) -> bytes:
    """One entry of the log: whose it is, the how manieth of that shard, and what is added."""
    return pickle.dumps((shard, number, loss, dict(update)), 5)


def entries(data: bytes | memoryview) -> Iterator[bytes]:
    """The entries of an answer, in order."""
    view, start = memoryview(data), 0
    while start < len(view):
        (length,) = _LENGTH.unpack_from(view, start)
        start += _LENGTH.size
        yield bytes(view[start : start + length])
        start += length


class Values:
    """The parameters after some entries of the log. Equal for everyone at the same length."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.length = 0
        """Entries of the log that are in."""
        self.pushed: dict[int, int] = {}
        """For each shard how many updates of it are in."""
        self.losses: list[list[Any]] = []
        """``[place in the log, shard, loss]``."""
        self._every = 1
        self._free = True

    @staticmethod
    def opened(head: Mapping[str, Any], data: bytes) -> Values:
        """From a snapshot, or from the parameters as the job gave them."""
        import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that train

        if head["form"] == "snapshot":
            found = pickle.loads(data)  # noqa: S301  written by `snapshot`
            assert isinstance(found, Values)
            return found
        values = Values()
        given = json.loads(data) if head["form"] == "json" else pickle.loads(data)  # noqa: S301  verified by its hash
        for name, value in given.items():
            array = np.array(value, dtype=np.result_type(np.asarray(value).dtype, np.float32))
            if not np.isfinite(array).all():
                raise ValueError(f"parameter {name!r} is not finite at the start; give finite numbers")
            values.arrays[name] = array
        values._free = not given
        return values

    def snapshot(self) -> bytes:
        """All of it, to be opened elsewhere."""
        return pickle.dumps(self, 5)

    def check(self, update: Mapping[str, Any], who: str) -> dict[str, Array]:
        """An update as arrays.

        Raises:
            ValueError: for a name or a shape that is not among the parameters.
            FloatingPointError: if it is not finite; ``who`` is named.
        """
        import numpy as np  # noqa: PLC0415

        checked = {}
        for name, value in update.items():
            array = np.asarray(value, dtype=np.float64)
            known = self.arrays.get(name)
            if known is None and not self._free:
                raise ValueError(f"push: there is no parameter {name!r}; there are {', '.join(self.arrays)}")
            if known is not None and array.shape != known.shape:
                raise ValueError(f"push: {name!r} has the shape {known.shape}, its update {array.shape}")
            if not np.isfinite(array).all():
                raise FloatingPointError(
                    f"{who} pushes an update of {name!r} that is not finite; it was refused, and the parameters are as "
                    "before. Lower the learning rate, or bound the staleness"
                )
            checked[name] = array
        return checked

    def apply(self, data: bytes) -> None:
        """Add the next entry of the log; one that is there already, by its shard and number, changes nothing.

        Raises:
            FloatingPointError: if the parameters are not finite then; the entry's shard and number are named.
        """
        import numpy as np  # noqa: PLC0415

        shard, number, loss, update = pickle.loads(data)  # noqa: S301  written by `encode_update`
        place, self.length = self.length, self.length + 1
        if number != self.pushed.get(shard, 0):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            after = {
                name: np.asarray(self.arrays[name] + value) if name in self.arrays else value
                for name, value in update.items()
            }
        for name, array in after.items():
            if not np.isfinite(array).all():
                raise FloatingPointError(f"push {number} of shard {shard} made parameter {name!r} infinite")
        self.arrays |= after
        self.pushed[shard] = number + 1
        if loss is not None and place % self._every == 0:
            self.losses.append([place, shard, loss])
            if len(self.losses) > KEPT_LOSSES:
                self._every *= 2
                self.losses = [one for one in self.losses if one[0] % self._every == 0]

    def given(self) -> dict[str, Any]:
        """The parameters as the user gets them: copies, and plain numbers where there are no dimensions."""
        return {name: array.copy() if array.ndim else float(array) for name, array in self.arrays.items()}
