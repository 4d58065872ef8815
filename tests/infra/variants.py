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
        "worker_subnets": "subnet-0a1b2c3d,subnet-0123456789abcdef0",
        "worker_security_groups": "sg-0a1b2c3d",
        "permissions_boundary": "of-this-team",
        "stored_code_only": "true",
    },
    "local": {"packaging": "local"},
}
LARGEST = {
    "stage": "a-stage-of-16-ch",
    "worker_memory_mb": ",".join(str(10_240 - number) for number in range(16)),
    "input_buckets": ",".join(f"{number:02}{'b' * 61}" for number in range(20)),
    "kms_key_arn": KEY.replace("key/", "key/mrk-"),
    "worker_subnets": ",".join(f"subnet-{number:017x}" for number in range(16)),
    "worker_security_groups": "sg-0123456789abcdef0",
    "permissions_boundary": "b" * 128,
    "python": "3.14",
}
"""Everything as long and as many as it may be, for the limits of AWS."""
