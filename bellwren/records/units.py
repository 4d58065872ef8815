"""Units by name, and what one of each is in ours (seconds, bytes, MB of memory)."""

from __future__ import annotations

from collections.abc import Mapping

TIME: Mapping[str, float] = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
"""Seconds in one of each."""

SIZE: Mapping[str, float] = {
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
"""Bytes in one of each."""

MEMORY: Mapping[str, float] = {name: size / 1e6 for name, size in SIZE.items()}
"""MB (10^6 bytes) in one of each."""


def factor(table: Mapping[str, float], unit: str, where: str) -> float:
    """How many of ours one `unit` is. Raises ValueError, naming what is allowed."""
    if unit not in table:
        raise ValueError(f"{where}: the unit is {unit!r}; allowed: {', '.join(table)}")
    return table[unit]
