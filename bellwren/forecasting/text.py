"""Texts as short vectors: near where the spelling is near, apart where the texts differ at all."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_GRAMS = 24
_WHOLE = 16
WIDTH = _GRAMS + _WHOLE
"""Numbers in one text's code."""
_NORM = 0.7
"""Two texts with nothing in common lie at distance 0.99, about one e-fold of a number."""


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


@lru_cache(maxsize=4096)
def _code(text: str) -> tuple[float, ...]:
    grams = np.zeros(_GRAMS)
    for word in text.casefold().split():
        padded = f" {word} "
        for size in (1, 2, 3):
            for at in range(len(padded) - size + 1):
                grams[_digest(padded[at : at + size])[0] % _GRAMS] += 1.0
    whole = np.array([1.0 if byte & 1 else -1.0 for byte in _digest(text)[:_WHOLE]])
    parts = [part / max(float(np.linalg.norm(part)), 1e-12) for part in (grams, whole)]
    return tuple(_NORM * math.sqrt(0.5) * np.concatenate(parts))


def text_code(text: str) -> NDArray[np.float64]:
    """Half hashed character n-grams (1 to 3 at word bounds, as Bellamy encodes text), half a hash of the whole text,
    so that ``r4.xlarge`` lies nearer to ``r4.2xlarge`` than to ``eu-west``, and no two texts coincide. Shape [WIDTH].
    """
    return np.array(_code(text))
