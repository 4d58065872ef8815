"""Benchmarks: each claim against a peer in the same run, as a ratio, since machines are shared and noisy."""
