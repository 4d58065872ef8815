"""Tuning: a job is run on a sample of its input at several sizes and scale-outs, and the whole is told from it."""
