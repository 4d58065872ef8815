"""Bulk synchronous parallel jobs (Valiant 1990; Pregel, Malewicz et al. 2010) whose partitions stay in their workers.

Partitions are held in *groups*, contiguous and fixed when the job is planned: a group is what lies in one runner, what
puts one object for each superstep, and what a checkpoint holds. The barrier is "the objects of all groups are there";
objects are created once, so everybody reads the same superstep and decides alike what follows from it.

``program`` and ``holding`` run in the runner; ``objects``, ``board``, ``group`` and ``worker`` in the supervisor.
"""
