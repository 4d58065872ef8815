"""Small operations on a stream of byte pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain


def with_head(pieces: Iterable[bytes], length: int) -> tuple[bytes, Iterator[bytes]]:
    """The first ``length`` bytes (fewer where the stream ends before), and the whole stream with them still in it."""
    stream = iter(pieces)
    taken: list[bytes] = []
    have = 0
    for piece in stream:
        taken.append(piece)
        have += len(piece)
        if have >= length:
            break
    return b"".join(taken)[:length] if len(taken) > 1 else (taken[0][:length] if taken else b""), chain(
        taken, stream
    )


def slices(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The joined pieces again, cut into ``size`` bytes each; the last one may be shorter."""
    held: list[bytes] = []
    have = 0
    for piece in pieces:
        at = 0
        while have + len(piece) - at >= size:
            end = at + size - have
            held.append(piece[at:end])
            yield b"".join(held)
            held, have, at = [], 0, end
        if at < len(piece):
            held.append(piece[at:])
            have += len(piece) - at
    if held:
        yield b"".join(held)
