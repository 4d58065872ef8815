"""Sort records of 100 bytes by the 10 bytes that they begin with, and have valsort check the outcome.

$ python -m examples.sort_records
before: 20000 records, sorted: False
after:  20000 records, sorted: True
nothing lost, nothing changed: True
"""

from __future__ import annotations

import random
from typing import Any

import bellwren

RECORDS = 20_000
RECORD_BYTES = 100
KEY_BYTES = 10


def check(cloud: bellwren.Cloud, uri: str) -> dict[str, Any]:
    """What valsort says of records in S3: their order, count and a checksum that does not depend on the order."""
    document = {
        "bellwren": 1,
        "algorithm": "valsort",
        "input": {"blocks": uri, "chunk": RECORD_BYTES},
        "params": {"key_bytes": KEY_BYTES},
    }
    summary: dict[str, Any] = cloud.submit(document).result()["valsort"]
    return summary


def main() -> None:
    cloud = bellwren.connect()
    data = f"s3://{cloud.deployment.data_bucket}/examples/records/"
    cloud.data_store.put("examples/records/all", random.Random(1).randbytes(RECORDS * RECORD_BYTES))

    records = bellwren.blocks(data, RECORD_BYTES)
    job = cloud.sort(records, params={"key_bytes": KEY_BYTES})
    job.wait()

    before, after = check(cloud, data), check(cloud, job.status()["results_uri"])
    print(f"before: {before['records']} records, sorted: {before['sorted']}")
    print(f"after:  {after['records']} records, sorted: {after['sorted']}")
    print(f"nothing lost, nothing changed: {before['checksum'] == after['checksum']}")


if __name__ == "__main__":
    main()
