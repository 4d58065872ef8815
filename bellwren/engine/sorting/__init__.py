"""Sort: each chunk becomes a sorted run, and every merge task takes its range of keys out of all runs.

There is no pass that samples the input. A run carries an index, the first key of each of its blocks, and the indexes
together are a regular sample of everything: every merge task reads them, finds the same boundaries as every other, and
asks for the bytes between its two (sorting by regular sampling, Shi and Schaeffer 1992). ``forms`` says how records and
keys lie in bytes, ``ranks`` where NaN and None go, ``runs`` what a run looks like, ``boundaries`` which part of which
run a merge task needs.
"""
