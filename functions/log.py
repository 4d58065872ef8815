"""One structured line for each invocation: what was done, for which job, how long it took."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

_SHOWN = (
    *("action", "next", "stage", "round", "status", "reason"),
    *("algorithm", "outcome", "version", "messages", "started", "unchanged", "busy", "strange"),
)


def logged(handler: Handler) -> Handler:
    """Write a line of JSON to standard error after the handler, also when it raises."""

    @wraps(handler)
    def call(event: dict[str, Any], context: Any) -> dict[str, Any]:
        began = time.monotonic()
        line: dict[str, Any] = {"function": handler.__module__.rpartition(".")[2], "job_id": _job_of(event)}
        try:
            answer = handler(event, context)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"[:1000]
            raise
        else:
            line |= {"job_id": line["job_id"] or answer.get("job_id")}
            line |= {name: answer[name] for name in _SHOWN if name in answer}
            return answer
        finally:
            line["seconds"] = round(time.monotonic() - began, 6)
            print(json.dumps(line), file=sys.stderr, flush=True)

    return call


def _job_of(event: dict[str, Any]) -> Any:
    job = event.get("job")
    return event.get("job_id") or (job.get("job_id") if isinstance(job, dict) else None)
