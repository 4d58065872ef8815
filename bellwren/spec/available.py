"""What this version can run, of what the job document can say."""

from __future__ import annotations

AVAILABLE_KINDS = frozenset({"map", "map_reduce", "sort", "bsp", "parameter_server"})
"""Kinds of job that the engine has."""

AVAILABLE_INPUTS = frozenset({"lines", "csv", "parquet", "objects", "blocks", "job"})
"""Formats of ``input`` that the engine reads."""
