"""Sorting and merging records by keys of any comparable type.

A record travels as it will stand in the result, encoded once, and only its key is a Python object again where runs are
merged.
"""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from bellwren.engine.sorting.boundaries import Boundary
from bellwren.engine.sorting.partition import Piece
from bellwren.engine.sorting.ranks import ORDINARY, RANKS, compare_failed, ranked
from bellwren.engine.sorting.runs import Index, block_ends, run_pieces, unpickled
from bellwren.payload.results import dumps_result


@dataclass
class OfRank:
    """Records whose keys have one rank."""

    keys: list[Any] = field(default_factory=list)
    """Empty for a rank in which nothing is compared."""
    values: list[bytes] = field(default_factory=list)

    def sort(self) -> None:
        """By key; equal keys stay in their order.

        Raises:
            InputError: if keys cannot be compared; it names their types.
        """
        if not self.keys:
            return
        try:
            order = sorted(range(len(self.keys)), key=self.keys.__getitem__)
        except MemoryError:
            raise
        except Exception as error:  # whatever a comparison of the user's raises
            raise compare_failed(self.keys, error) from error
        self.keys = [self.keys[at] for at in order]
        self.values = [self.values[at] for at in order]


class Sorter:
    """Collects the records of one chunk, or of one partition."""

    def __init__(self) -> None:
        self._ranks = [OfRank() for _ in RANKS]

    def add(self, key: Any, value: bytes) -> None:
        """Take one record: its key, and what stands for it in the result.

        Raises:
            TypeError: if the key has no order.
        """
        rank, compared = ranked(key)
        if rank == ORDINARY:
            self._ranks[rank].keys.append(compared)
        self._ranks[rank].values.append(value)

    def extend(self, rank: int, keys: Sequence[Any], values: Sequence[bytes]) -> None:
        """Take records that are ranked already."""
        self._ranks[rank].keys.extend(keys)
        self._ranks[rank].values.extend(values)

    def load(self, blocks: bytes | memoryview) -> None:
        """Take the records of the blocks of a run."""
        for rank, keys, values in _blocks(blocks):
            self.extend(rank, keys, values)

    def values(self) -> list[bytes]:
        """The records in order."""
        for of_rank in self._ranks:
            of_rank.sort()
        return [value for of_rank in self._ranks for value in of_rank.values]

    def run(self, block_bytes: int, note: dict[str, Any]) -> list[bytes | memoryview]:
        """The run of everything taken, in pieces."""
        blocks: list[bytes] = []
        counts: list[int] = []
        ranks: list[int] = []
        keys: list[Any] = []
        for rank, of_rank in zip(RANKS, self._ranks, strict=True):
            of_rank.sort()
            for start, end in pairwise([0, *_ends(of_rank, block_bytes)]):
                blocks.append(dumps_result((rank, of_rank.keys[start:end], of_rank.values[start:end])))
                counts.append(end - start)
                ranks.append(rank)
                keys.append(of_rank.keys[start] if of_rank.keys else 0)
        ordinary = self._ranks[ORDINARY].keys
        keys.append(ordinary[-1] if ordinary else None)
        index = Index(plain=False, sizes=list(map(len, blocks)), counts=counts, ranks=bytes(ranks), keys=keys)
        return run_pieces(index, blocks, note)


def merged(
    limits: tuple[Boundary | None, Boundary | None], fetched: Iterable[tuple[Piece, memoryview]]
) -> list[bytes]:
    """The records of one partition in order, from the bytes of its pieces in the order of runs."""
    low, high = limits
    sorter = Sorter()
    for piece, data in fetched:
        gathered = [OfRank() for _ in RANKS]
        for rank, keys, values in _blocks(data):
            gathered[rank].keys.extend(keys)
            gathered[rank].values.extend(values)
        ordinary = gathered[ORDINARY]
        start, end = 0, len(ordinary.keys)
        if low and piece.begins_within:
            start = _place(ordinary.keys, low, piece.run)
        if high and piece.ends_within:
            end = _place(ordinary.keys, high, piece.run)
        gathered[ORDINARY] = OfRank(ordinary.keys[start:end], ordinary.values[start:end])
        for rank in RANKS:
            sorter.extend(rank, gathered[rank].keys, gathered[rank].values)
    return sorter.values()


def _place(keys: Sequence[Any], limit: Boundary, run: int) -> int:
    return (bisect_right if run < limit.task else bisect_left)(keys, limit.key)


def _blocks(data: bytes | memoryview) -> Iterator[tuple[int, Sequence[Any], Sequence[bytes]]]:
    """Rank, keys and records of each block; a block is a pickle, which says itself where it ends."""
    stream = io.BytesIO(data)
    while stream.tell() < len(data):
        rank, keys, values = unpickled(stream)
        yield rank, keys, values


def _ends(of_rank: OfRank, block_bytes: int) -> Iterator[int]:
    offsets = list(accumulate(map(len, of_rank.values), initial=0))
    return block_ends(
        offsets, block_bytes, lambda at: len(dumps_result(of_rank.keys[at])) if of_rank.keys else 0
    )
