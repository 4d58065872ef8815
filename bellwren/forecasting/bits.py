"""Properties as Bellamy sees them: one vector of 40 numbers each.

Scheinert et al., "Bellamy: Reusing Performance Models for Distributed Dataflow Jobs Across Contexts" (2021), section
III-C. A number is a flag of 1 and its integer in 39 bits, big-endian; a text is a flag of 0 and 39 hashed counts of
its character n-grams (1 to 3, at word bounds), of length 1, after dropping characters outside a small alphabet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from bellwren.forecasting.features import Array, Choices
from bellwren.records.execution import BYTES, ITEMS, KINDS, MACHINE, MEMORY_MB, SLOTS, Kind, Value

WIDTH = 40
_BITS = WIDTH - 1
ESSENTIAL = ("machine_type", "job_args", "data_size_MB", "data_characteristics", "environment")
"""Each has a code of its own, in this order."""
OPTIONAL = ("job_type", "memory", "slots")
"""Their codes are averaged; memory and slots are those of all workers together."""
_DROPPED = re.compile(r"[^a-z0-9.:,;_\-+#@ ]")


def encode_number(number: int) -> Array:
    """Flag 1 and 39 bits. Raises ValueError for what does not fit. Shape [40]."""
    if not 0 <= number < 2**_BITS:
        raise ValueError(f"{number} does not fit {_BITS} bits")
    bits = [float(bit) for bit in f"{number:0{_BITS}b}"]
    return np.array([1.0, *bits])


@lru_cache(maxsize=4096)
def _encode_text(text: str) -> tuple[float, ...]:
    counts = np.zeros(_BITS)
    for word in _DROPPED.sub("", text.lower()).split():
        padded = f" {word} "
        for size in (1, 2, 3):
            for at in range(len(padded) - size + 1):
                digest = hashlib.blake2b(padded[at : at + size].encode(), digest_size=4).digest()
                counts[int.from_bytes(digest, "big") % _BITS] += 1.0
    length = float(np.linalg.norm(counts))
    return (0.0, *(counts / length if length else counts))


def encode_text(text: str) -> Array:
    """Flag 0 and 39 hashed n-gram counts. Shape [40]."""
    return np.array(_encode_text(text))


def encode(value: Value | None) -> Array:
    """A whole number that fits as bits, anything else by its text, nothing as zeros. Shape [40]."""
    if value is None:
        return np.zeros(WIDTH)
    if isinstance(value, str):
        return encode_text(value)
    if float(value).is_integer() and 0 <= value < 2**_BITS:
        return encode_number(int(value))
    return encode_text(f"{value:.10g}")


def essential(properties: Mapping[str, Value], kinds: Mapping[str, Kind]) -> Array:
    """The five essential properties of a context. Shape [5, 40]."""
    said = {**kinds, **KINDS}
    groups: dict[str, list[Value]] = {"parameter": [], "characteristic": [], "environment": []}
    for name in sorted(properties):
        kind = said.get(name, "characteristic")
        if name != MACHINE and kind in groups:
            groups[kind].append(properties[name])
    size = properties.get(BYTES, properties.get(ITEMS))
    in_mb = round(float(size) / 1e6) if isinstance(size, (int, float)) and BYTES in properties else size
    return np.stack(
        [
            encode(properties.get(MACHINE)),
            encode(_joined(groups["parameter"])),
            encode(in_mb),
            encode(_joined(groups["characteristic"])),
            encode(_joined(groups["environment"])),
        ]
    )


def _joined(values: list[Value]) -> Value | None:
    if len(values) <= 1:
        return values[0] if values else None
    return " ".join(value if isinstance(value, str) else f"{value:.10g}" for value in values)


def optional(algorithm: str, choices: Choices) -> tuple[Array, Array]:
    """The optional properties of runs, and which of them are known. Shapes [B, 3, 40] and [B, 3]."""
    codes, known = np.zeros((len(choices), 3, WIDTH)), np.zeros((len(choices), 3))
    codes[:, 0], known[:, 0] = encode_text(algorithm), 1.0
    for place, (name, each) in enumerate(((MEMORY_MB, choices.memory_mb), (SLOTS, choices.slots)), start=1):
        assert name
        for at, (own, workers) in enumerate(zip(each, choices.workers, strict=True)):
            if np.isfinite(own):
                codes[at, place], known[at, place] = encode(float(round(own * workers))), 1.0
    return codes, known


def scale_out(workers: Array) -> Array:
    """[1/x, log x, x]. Shape [B, 3]."""
    return np.stack([1.0 / (workers + 1e-6), np.log(workers), workers], axis=1)
