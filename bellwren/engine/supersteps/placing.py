"""Which partitions lie in which group: contiguous runs of nearly equal length. Pure functions."""

from __future__ import annotations


def members(group: int, groups: int, partitions: int) -> range:
    """The partitions of a group."""
    return range(group * partitions // groups, (group + 1) * partitions // groups)


def group_of(partition: int, groups: int, partitions: int) -> int:
    """The group of a partition: the inverse of ``members``."""
    return ((partition + 1) * groups - 1) // partitions
