"""What every function is told about its deployment, by environment variables."""

from __future__ import annotations

import json

from infra.stage import Stage


def deployment(stage: Stage) -> dict[str, str]:
    """Where things are and what is allowed. There is no secret in it."""
    settings, names = stage.settings, stage.names
    return {
        "BELLWREN_STAGE": settings.stage,
        "BELLWREN_JOBS_BUCKET": names.bucket("jobs"),
        "BELLWREN_DATA_BUCKET": names.bucket("data"),
        "BELLWREN_RECORDS_BUCKET": names.bucket("records"),
        "BELLWREN_MODELS_BUCKET": names.bucket("models"),
        "BELLWREN_MAX_WORKERS": str(settings.max_workers),
        "BELLWREN_WORKER_MEMORY_MB": json.dumps(settings.worker_memory_mb),
        "BELLWREN_STORED_CODE_ONLY": json.dumps(settings.stored_code_only),
        "BELLWREN_INPUT_BUCKETS": json.dumps(settings.input_buckets),
    }
