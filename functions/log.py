"""One structured line for each invocation: what was done, for which job, how long it took.

What else is logged meanwhile says of which function and job it is: Lambda's JSON format has every attribute of a
record.
"""

from __future__ import annotations

import json
import logging
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

_under_way: dict[str, Any] = {}
"""Function and job of the invocation; an environment has one at a time."""
_make_record = logging.getLogRecordFactory()


def _record(*arguments: Any, **named: Any) -> logging.LogRecord:
    record = _make_record(*arguments, **named)
    record.__dict__.update(_under_way)
    return record


logging.setLogRecordFactory(_record)


def logged(handler: Handler) -> Handler:
    """Write a line of JSON to standard error after the handler, also when it raises."""

    @wraps(handler)
    def call(event: dict[str, Any], context: Any) -> dict[str, Any]:
        began = time.monotonic()
        line: dict[str, Any] = {"function": handler.__module__.rpartition(".")[2], "job_id": _job_of(event)}
        _under_way.update(line)
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
            _under_way.clear()
            line["seconds"] = round(time.monotonic() - began, 6)
            print(json.dumps(line), file=sys.stderr, flush=True)

    return call


def _job_of(event: dict[str, Any]) -> Any:
    job = event.get("job")
    return event.get("job_id") or (job.get("job_id") if isinstance(job, dict) else None)
