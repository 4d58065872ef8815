"""The parameters as one shard reads and changes them, in the runner."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from bellwren.engine.channel import Channel
from bellwren.engine.training import values
from bellwren.engine.training.slices import Block, cut, slice_count
from bellwren.engine.training.values import Slice
from bellwren.payload.text import short_repr

if TYPE_CHECKING:
    from bellwren.engine.training.values import Array


class Shared:
    """The slices as they were when this process last read them."""

    def __init__(self, channel: Channel, *, bounded: bool) -> None:
        """``bounded`` parameters are one slice, so that what a push has missed is counted over all of them."""
        self._channel = channel
        head, data = channel.consult({"ask": "open"})
        self.open = head["form"] is None
        """Whether every push may name new parameters, as nothing was given."""
        self.given = values.given_arrays(_given(head["form"], data))
        shapes = values.shapes_of(self.given)
        count = 1 if bounded else slice_count(sum(array.nbytes for array in self.given.values()))
        self.blocks: list[list[Block]] = cut(shapes, count)
        self.slices = [Slice(values.rows_of(self.given, blocks)) for blocks in self.blocks]
        self._etags = ["" for _ in self.slices]
        self.refresh()

    def refresh(self) -> None:
        """Read what has changed."""
        numbers = range(len(self.slices))
        self._take(
            numbers, *self._channel.consult({"ask": "read", "slices": [*numbers], "etags": self._etags})
        )

    def swap(self, made: Mapping[int, Slice], tries: int) -> set[int]:
        """Put slices in the place of those that are known; those that have changed since are known then.

        Returns:
            The numbers of those that were put.
        """
        numbers = list(made)
        data = [one.encode() for one in made.values()]
        order = {
            "ask": "swap",
            "slices": numbers,
            "etags": [self._etags[number] for number in numbers],
            "sizes": [len(one) for one in data],
            "tries": tries,
        }
        lost = self._take(numbers, *self._channel.consult(order, *data))
        for number in made.keys() - lost:
            self.slices[number] = made[number]
        return made.keys() - lost

    def _take(self, numbers: Iterable[int], head: Mapping[str, Any], body: memoryview) -> set[int]:
        """Note the ETags of slices, and take over those that come with content; returns the numbers of these."""
        taken = set()
        spans = pairwise(accumulate(head["sizes"], initial=0))
        for number, etag, (start, end) in zip(numbers, head["etags"], spans, strict=True):
            self._etags[number] = etag
            if end > start:
                self.slices[number] = Slice.decode(body[start:end])
                taken.add(number)
        return taken


class Parameters:
    """``pull()`` and ``push(update, loss=None)``."""

    def __init__(self, channel: Channel, shard: int, staleness: int | None) -> None:
        self._shared = Shared(channel, bounded=staleness is not None)
        self._shard = shard
        self._staleness = staleness
        self._lock = threading.Lock()
        self._before = max((one.pushed.get(shard, 0) for one in self._shared.slices), default=0)
        """Pushes of an earlier try of this shard; the last of them may not have come to all of its slices."""
        self._number = 0
        self._seen = self._others()

    def resume(self) -> int:
        """How many updates an earlier try of this shard has pushed; the next push counts as the one after them.

        A function that can tell where it was goes on there. One that does not ask starts anew, and its first pushes
        are skipped, as they are in.
        """
        with self._lock:
            # Of several slices the last push may have come to some.
            self._number = max(self._number, self._before - (len(self._shared.slices) > 1))
            return self._number

    def pull(self) -> dict[str, Any]:
        """The parameters with every update that is in by now: arrays by name, numbers where they have no dimensions."""
        with self._lock:
            self._shared.refresh()
            self._seen = self._others()
            return values.plain(values.joined(self._shared.slices))

    def push(self, update: Mapping[str, Any], loss: float | None = None) -> bool:
        """Add to parameters, by name.

        Args:
            update: for each parameter that changes, what is added to it. Slices in which all of it is zero stay as
                they are.
            loss: noted in the job's history.

        Returns:
            False if more than ``staleness`` updates of others came in since the last ``pull``; nothing was added then:
            pull, and compute it anew. Always True where staleness has no bound.

        Raises:
            ValueError: for a name or a shape that is not among the parameters, or what is no number.
            FloatingPointError: if the update, or a parameter with it, is not finite; shard and step are named.
        """
        with self._lock:
            checked = self._checked(update)
            if self._number + 1 < self._before:
                # An earlier try of this shard had pushed it, and the next one, so it is in everywhere.
                self._number += 1
                return True
            if not self._add(checked, values.finite(loss)):
                return False
            self._number += 1
            return True

    def _add(self, update: dict[str, Array], loss: float | None) -> bool:
        shared, left = self._shared, self._touched(update)
        counted = min(left)  # the loss is noted once
        tries = 0
        while True:
            left = {
                number: part
                for number, part in left.items()
                if not shared.slices[number].has(self._shard, self._number)
            }
            if not left:
                return True
            if self._staleness is not None and self._others() - self._seen > self._staleness:
                return False
            noted = None if loss is None else (time.time(), loss)
            made = {
                number: shared.slices[number].after(
                    self._shard, self._number, part, noted if number == counted else None
                )
                for number, part in left.items()
            }
            for number in shared.swap(made, tries):
                del left[number]
            tries += 1

    def _touched(self, update: dict[str, Array]) -> dict[int, dict[str, Array]]:
        """What an update adds to each slice; not to those to which it adds nothing, but to one at least."""
        if self._shared.open:
            return {0: update}
        parts = {number: values.rows_of(update, blocks) for number, blocks in enumerate(self._shared.blocks)}
        changed = {
            number: part for number, part in parts.items() if any(array.any() for array in part.values())
        }
        return changed or {0: parts[0]}

    def _others(self) -> int:
        """How many pushes of others are in: with a bound on staleness there is one slice."""
        one = self._shared.slices[0]
        return one.version - one.pushed.get(self._shard, 0)

    def _checked(self, update: Mapping[str, Any]) -> dict[str, Array]:
        import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that train

        known_arrays = self._shared.slices[0].arrays if self._shared.open else self._shared.given
        checked = {}
        for name, value in update.items():
            array = _numbers(name, value)
            known = known_arrays.get(name)
            if known is None and not self._shared.open:
                raise ValueError(f"push: there is no parameter {name!r}; there are {', '.join(known_arrays)}")
            if known is not None and array.shape != known.shape:
                raise ValueError(f"push: {name!r} has the shape {known.shape}, its update {array.shape}")
            if not np.isfinite(array).all():
                raise FloatingPointError(
                    f"shard {self._shard}, step {self._number}, pushes an update of {name!r} that is not finite; it "
                    "was refused, and the parameters are as before. Lower the learning rate, or bound the staleness"
                )
            checked[name] = array
        return checked


def _numbers(name: str, value: Any) -> Array:
    import numpy as np  # noqa: PLC0415  as above

    try:
        return np.asarray(value).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        message = (
            f"push: the update of {name!r} must be a number or an array of them; found {short_repr(value)}"
        )
        raise ValueError(message) from error


def _given(form: str | None, data: memoryview) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if form == "json":
        found = json.loads(bytes(data))
    elif form == "pickle":
        found = pickle.loads(data)  # noqa: S301  verified by its hash
    return found
