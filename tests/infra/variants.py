"""Deployments that differ in what can be set. Each is synthesised once; checks of a whole template see all."""

from __future__ import annotations

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

VARIANTS: dict[str, dict[str, str]] = {
    # Nothing: no alarms' address, no reserved concurrency, no further bucket.
    "smallest": {},
    "full": {
        "stage": "test",
        "worker_memory_mb": "1024,2048",
        "input_buckets": "books",
        "alarm_email": "ops@example.org",
        "max_workers": "500",
        "worker_reserved_concurrency": "600",
        "retraining_schedule": "rate(7 minutes)",
    },
    "key": {
        "stage": "test-2",
        "worker_memory_mb": "1024",
        "input_buckets": "books,more.books",
        "kms_key_arn": KEY,
    },
    "local": {"packaging": "local"},
}
