"""Jobs that were running when the cloud went down are brought to an end when it comes up again.

Their executions are gone and nothing would ever write their final status: a client would wait for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bellwren import layout
from bellwren.control.status import FINAL
from bellwren.local.access import LocalCloud

_REASON = {
    "Error": "LocalCloudStopped",
    "Cause": "the local cloud was stopped, or crashed, while the job was running; submit it again",
}


def end_interrupted_jobs(cloud: LocalCloud, stage: str) -> list[str]:
    """Have the deployment's own Finish function end every job of the stage that has no final status.

    To be called as soon as the cloud is up again, before anything can have started a job on it.

    Returns:
        The ids of those jobs.
    """
    published = cloud.deployment(stage)
    if published is None:
        return []
    s3, bucket = cloud.client("s3"), published["jobs_bucket"]
    ended = [job_id for job_id in _job_ids(s3, bucket) if _status(s3, bucket, job_id) not in FINAL]
    for job_id in ended:
        cloud.client("lambda").invoke(
            FunctionName=f"bellwren-{stage}-finish",
            Payload=json.dumps({"job_id": job_id, "error": _REASON}),
        )
    return ended


def _job_ids(s3: Any, bucket: str) -> Iterator[str]:
    for page in s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=layout.JOBS, Delimiter="/"
    ):
        for found in page.get("CommonPrefixes", ()):
            yield found["Prefix"].removeprefix(layout.JOBS).removesuffix("/")


def _status(s3: Any, bucket: str, job_id: str) -> Any:
    try:
        document = s3.get_object(Bucket=bucket, Key=layout.status(job_id))["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
    return json.loads(document)["status"]
