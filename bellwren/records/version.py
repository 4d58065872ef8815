"""The number of the record's schema. What is new in each number is said in `document`."""

from __future__ import annotations

SCHEMA = 2
READS = (1, 2)
"""Numbers that are read."""
