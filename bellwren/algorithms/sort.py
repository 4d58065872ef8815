"""Sort: records in the order of their bytes, or of their leading bytes.

How records lie in objects, and which bytes are compared, stands in the plan (``bellwren.raw``); nothing is called.
"""

from __future__ import annotations

from bellwren.algorithms.functions import Functions


def functions(record_bytes: int | None, key_bytes: int | None) -> Functions:
    """Natural keys: no function."""
    del record_bytes, key_bytes
    return Functions()
