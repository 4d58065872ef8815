"""Sizes as people write them: ``"32MB"``, ``"1.5 GiB"``, or a plain number of bytes."""

from __future__ import annotations

import re

_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}

SIZE_PATTERN = r"^[0-9]{1,15}(\.[0-9]{1,9})? ?([kKmMgGtT][iI]?)?[bB]$"
"""The texts that :func:`parse_size` reads, in the dialect that JSON Schema and Python share."""

_SIZE = re.compile(SIZE_PATTERN.replace("$", r"\Z"), re.ASCII)


def parse_size(text: str | float) -> int:
    """Bytes of a size: kB, MB, GB are powers of 1,000 and KiB, MiB, GiB powers of 1,024.

    A number is of bytes, and 4.0 is a whole one. Parts of a byte are cut off. Raises ``ValueError`` with what is
    allowed for what is no size (``"32"``, ``"32M"``, ``-1``, ``1.5``).

    >>> parse_size("32MB"), parse_size("1.5 KiB"), parse_size(7)
    (32000000, 1536, 7)
    """
    if isinstance(text, str) and _SIZE.match(text):
        digits = text.rstrip("bBkKmMgGtTiI ")
        unit = _UNITS[text[len(digits) :].strip().lower()]
        whole, _, fraction = digits.partition(".")
        # In whole numbers, so that no size is off by the rounding of a float.
        return int(whole + fraction) * unit // int(10 ** len(fraction))
    if isinstance(text, int | float) and not isinstance(text, bool) and text >= 0 and text == text // 1:
        return int(text)
    raise ValueError('a number and its unit, such as "32MB" or "64MiB", or a whole number of bytes')
