"""Grep: the lines that match a regular expression, in the order of the input."""

from __future__ import annotations

import re

from bellwren.algorithms.functions import Functions


def functions(pattern: str, ignore_case: bool) -> Functions:
    """Keep the lines in which ``pattern`` is found anywhere."""
    found = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search

    def keep(line: str) -> tuple[str, ...]:
        return (line,) if found(line) else ()

    return Functions(map=keep, flat=True)
