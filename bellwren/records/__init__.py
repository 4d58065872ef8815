"""Execution records: what each run was and what it took."""
