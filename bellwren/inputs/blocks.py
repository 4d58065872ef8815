"""Records that are bytes: fixed-size blocks, and whole objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bellwren.inputs.streams import slices

_BATCH = 1024


def block_batches(pieces: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Blocks of ``size`` bytes; the pieces begin at a block's start, and only the object's last block is shorter."""
    for piece in slices(pieces, max(1, _BATCH * 1024 // size) * size):
        yield [piece[at : at + size] for at in range(0, len(piece), size)]


def object_batch(key: str, pieces: Iterable[bytes]) -> list[tuple[str, bytes]]:
    """The one record of a whole object."""
    return [(key, b"".join(pieces))]
