"""Text to count words in: made from a seed, so that nothing has to be shipped or downloaded, and always the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

_SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "do",
    "ka",
    "ke",
    "ki",
    "ko",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
    "na",
    "ne",
    "ni",
    "no",
    "ra",
    "re",
    "ri",
    "ro",
    "sa",
    "se",
    "si",
    "so",
]
_VOCABULARY = 20_000
_LINE_WORDS = 12
_BATCH_LINES = 4_000


def vocabulary(seed: int = 1) -> list[str]:
    """Words of one to four syllables, all different, in an order that the seed decides."""
    shuffled = random.Random(seed)
    words = ["".join(parts) for length in (1, 2, 3) for parts in itertools.product(_SYLLABLES, repeat=length)]
    shuffled.shuffle(words)
    return sorted(words[:_VOCABULARY], key=len)


def text(size_bytes: int, seed: int = 1) -> Iterator[bytes]:
    """At least ``size_bytes`` of lines, in pieces. Word frequencies follow Zipf's law, as in any language."""
    words = vocabulary(seed)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    chosen = random.Random(seed)
    made = 0
    while made < size_bytes:
        drawn = chosen.choices(words, cum_weights=weights, k=_LINE_WORDS * _BATCH_LINES)
        lines = (" ".join(drawn[at : at + _LINE_WORDS]) for at in range(0, len(drawn), _LINE_WORDS))
        piece = ("\n".join(lines) + "\n").encode("ascii")
        made += len(piece)
        yield piece
